"""What every command gets in its environment so that git, when it looks, writes and runs nothing by itself.

Only what changes nothing but how something is shown or how quickly: hooks and filters of a `git commit` are not
touched. git passes none of this on to submodules, and a repository can name programs by other settings; see
`git.repository_safety` for both.
"""

from collections.abc import Mapping
from typing import Final

SETTINGS: Final = {
    # A directory of plain files is no repository because it looks like one.
    "safe.bareRepository": "explicit",
    # A program that git asks which files have changed, or a service that it would start.
    "core.fsmonitor": "false",
    # With these, showing something would ask the program for signatures, or a git in each submodule.
    "log.showSignature": "false",
    "format.pretty": "medium",
    "diff.submodule": "short",
    "status.submoduleSummary": "false",
    # `git diff` would write the index, and hooks may run then; `git stash show` would print what nobody asked for.
    "diff.autoRefreshIndex": "false",
    "stash.showPatch": "false",
}
VARIABLES: Final = {"GIT_OPTIONAL_LOCKS": "0"}
# What was judged is the repository in the workspace, with its own settings.
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
    """The environment with these settings behind those that it had, and `more` of one command."""
    settings = {**SETTINGS, **more}
    kept = {
        name: value for name, value in environment.items() if name not in NOT_PASSED_ON and not name.startswith(TRACING)
    }
    first = 0
    # Some that it had may have been withheld, and git refuses to start where one is missing.
    while f"GIT_CONFIG_KEY_{first}" in kept and f"GIT_CONFIG_VALUE_{first}" in kept and COUNT in kept:
        first += 1
    for place, (key, value) in enumerate(settings.items(), start=first):
        kept[f"GIT_CONFIG_KEY_{place}"] = key
        kept[f"GIT_CONFIG_VALUE_{place}"] = value
    return {**kept, **VARIABLES, COUNT: str(first + len(settings))}
