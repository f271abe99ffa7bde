"""The environment a command runs in: the person's own, without what would make it ask, page or behave like us.

Programs are found only in directories that are named in full, never in one that depends on where we are.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robota.workspace.process.git_settings import with_git_settings
from robota.workspace.process.withheld_variables import NOTHING_NAMED, WithheldVariables

# A variable by which the processes of a command are found, also those that left its group and session.
COMMAND_MARK = "ROBOTA_COMMAND_ID"

NON_INTERACTIVE = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}

# The first ones would run a file before every command or change what it means; the rest belong to our own Python.
NOT_PASSED_ON = frozenset(
    {
        "BASH_ENV",
        "ENV",
        "CDPATH",
        "SHELLOPTS",
        "BASHOPTS",
        "GLOBIGNORE",
        "POSIXLY_CORRECT",
        "PYTHONHOME",
        "PYTHONEXECUTABLE",
        "__PYVENV_LAUNCHER__",
    }
)
# A function that bash would define before the command, under the name of a program.
BASH_FUNCTION = "BASH_FUNC_"
LOADER = ("LD_", "GLIBC_TUNABLES", "DYLD_")


class CommandEnvironment:
    """What the commands of one session get: our environment and `added` of the settings, without what is `withheld`.

    It is worked out with the first command of a kind; after that each one only gets its own mark.
    """

    def __init__(self, added: Mapping[str, str] | None = None, withheld: WithheldVariables = NOTHING_NAMED) -> None:
        self._added = without_loader_settings(added or {})
        self._withheld = withheld
        self._known: dict[tuple[Any, ...], dict[str, str]] = {}

    def of_command(self, mark: str, git_settings: Mapping[str, str], *, is_sandboxed: bool) -> dict[str, str]:
        """The environment of one command; `git_settings` are for this one alone."""
        kind = (is_sandboxed, *git_settings.items())
        if kind not in self._known:
            own = command_environment({**os.environ, **self._added})
            kept_back = self._withheld.without_secrets if is_sandboxed else self._withheld.without_own_keys
            self._known[kind] = with_git_settings(kept_back(own), git_settings)
        return marked(self._known[kind], mark)


def command_environment(own: Mapping[str, str]) -> dict[str, str]:
    """`own` is the environment Robota itself was started in."""
    passed = {
        name: value for name, value in own.items() if name not in NOT_PASSED_ON and not name.startswith(BASH_FUNCTION)
    }
    if passed.get("VIRTUAL_ENV") == sys.prefix:
        del passed["VIRTUAL_ENV"]
    if "PATH" in passed:
        passed["PATH"] = absolute_path(passed["PATH"])
    return {**passed, **NON_INTERACTIVE}


def without_loader_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables from settings without those that put code into every program, the sandbox's own among them."""
    return {name: value for name, value in environment.items() if not name.startswith(LOADER)}


def marked(environment: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment with a mark for one command. A Robota that runs inside a command adds to the outer mark."""
    return {**environment, COMMAND_MARK: f"{environment.get(COMMAND_MARK, '')}{mark};"}


def unmarked(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without any mark, for a process that must outlive every command."""
    return {name: value for name, value in environment.items() if name != COMMAND_MARK}


def absolute_path(path: str) -> str:
    """A PATH without its relative entries: with those, a workspace could bring its own `ls` or `git`."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if folder.startswith("/"))


def find_program(name: str, environment: Mapping[str, str], not_beneath: Path | None = None) -> str | None:
    """The full path of a program.

    `not_beneath` is where commands can write: in a virtual environment there, which is on the PATH when it is active,
    they could put a program that we would run outside the sandbox.
    """
    # It brings every archive format along, and most sessions look for no program.
    import shutil

    path = absolute_path(environment.get("PATH", os.defpath))
    if not_beneath is not None:
        within = os.path.realpath(not_beneath)
        path = os.pathsep.join(folder for folder in path.split(os.pathsep) if not _lies_in(folder, within))
    return shutil.which(name, path=path)


def _lies_in(folder: str, within: str) -> bool:
    return Path(os.path.realpath(folder)).is_relative_to(within)
