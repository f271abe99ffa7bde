"""Environment variables that keep read-only git commands from writing files and running other programs.

They only affect how and how fast something is shown; hooks and filters of a `git commit` still run. git does not pass
these settings on to submodules, and a repository can name programs by other settings; see `git.repository_safety` for
both.
"""

from collections.abc import Mapping
from typing import Final

SETTINGS: Final = {
    # Plain files in the workspace that look like a bare repository are not one.
    "safe.bareRepository": "explicit",
    # A program that git asks which files have changed, or a daemon that it would start.
    "core.fsmonitor": "false",
    # With these, showing something would run the program for signatures, or a git in each submodule.
    "log.showSignature": "false",
    "format.pretty": "medium",
    "diff.submodule": "short",
    "status.submoduleSummary": "false",
    # `git diff` would write the index, which can run hooks; `git stash show` would print more than was asked for.
    "diff.autoRefreshIndex": "false",
    "stash.showPatch": "false",
}
VARIABLES: Final = {"GIT_OPTIONAL_LOCKS": "0"}
# Policy has judged the repository of the workspace with its own settings, not one that these variables select.
NOT_PASSED_ON: Final = frozenset(
    {
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"),
        *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_ATTR_SOURCE"),
        *("GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_EXEC_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE"),
        *("GIT_GRAFT_FILE", "GIT_INTERNAL_SUPER_PREFIX"),
    }
)
TRACING: Final = "GIT_TRACE"
COUNT: Final = "GIT_CONFIG_COUNT"
NO_MORE: Final[Mapping[str, str]] = {}


def with_git_settings(environment: Mapping[str, str], more: Mapping[str, str] = NO_MORE) -> dict[str, str]:
    """Append `SETTINGS`, and `more` of one command, to the git settings of the environment."""
    settings = {**SETTINGS, **more}
    kept = {
        name: value for name, value in environment.items() if name not in NOT_PASSED_ON and not name.startswith(TRACING)
    }
    first = 0
    # Some may have been withheld, and git refuses to start if one is missing.
    while f"GIT_CONFIG_KEY_{first}" in kept and f"GIT_CONFIG_VALUE_{first}" in kept and COUNT in kept:
        first += 1
    for number, (key, value) in enumerate(settings.items(), start=first):
        kept[f"GIT_CONFIG_KEY_{number}"] = key
        kept[f"GIT_CONFIG_VALUE_{number}"] = value
    return {**kept, **VARIABLES, COUNT: str(first + len(settings))}
