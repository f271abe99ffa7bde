"""The programs in the user's own git configuration that a repository can cause to run.

`.gitattributes` selects the files that have a filter, or are converted to text before they are compared. So reading a
repository runs programs that the user configured, on files that the repository chooses.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired
from typing import Final

from robota.workspace.git.git_safety import ConfiguredPrograms
from robota.workspace.outside_program import find_program, run_outside
from robota.workspace.process.environment import command_environment
from robota.workspace.process.git_settings import with_git_settings

SECONDS: Final = 5.0
DIFFING: Final = re.compile(r"diff\.external|diff\..*\.(?:command|textconv)", re.DOTALL)
FILTERING: Final = re.compile(r"filter\..*\.(?:clean|smudge|process)|trace2\.\w+target", re.DOTALL)
RECURSING: Final = "submodule.recurse"
NO: Final = frozenset({"false", "no", "off", "0"})
# What `git lfs install` writes. It stays within the git directory, and takes no programs from a repository.
LARGE_FILES: Final = {
    "filter.lfs.clean": "git-lfs clean -- %f",
    "filter.lfs.smudge": "git-lfs smudge -- %f",
    "filter.lfs.process": "git-lfs filter-process",
}


def configured_programs(root: Path, env: Mapping[str, str]) -> ConfiguredPrograms:
    """What git itself reports as configured in the workspace. Listing its configuration runs nothing."""
    program = find_program("git", env, not_beneath=root)
    if program is None:
        return ConfiguredPrograms()
    try:
        done = run_outside(
            [program, "config", "--list", "--null"],
            workspace=root,
            cwd=root,
            env=with_git_settings(command_environment(env)),
            stdin=DEVNULL,
            capture_output=True,
            timeout=SECONDS,
        )
    except (OSError, TimeoutExpired):
        return ConfiguredPrograms(for_files="a configuration that cannot be read")
    if done.returncode != 0:
        return ConfiguredPrograms(for_files="a configuration that git cannot read")
    settings = [entry.partition("\n")[::2] for entry in os.fsdecode(done.stdout).split("\0")]
    named = [name for name, value in settings if value and LARGE_FILES.get(name) != value]
    return ConfiguredPrograms(
        for_diffs=next((name for name in named if DIFFING.fullmatch(name)), None),
        for_files=next((name for name in named if FILTERING.fullmatch(name)), None),
        recurses=any(name == RECURSING and value.lower() not in NO for name, value in settings),
    )
