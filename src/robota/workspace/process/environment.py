"""The environment of a command: the user's, made non-interactive and without variables of our own Python.

Programs are looked up only in absolute directories of the PATH, never relative to the current directory. That is all
for a sandboxed command: which programs of the workspace it finds is its own affair.
"""

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from robota.workspace.outside_program import clean_path
from robota.workspace.process.git_settings import with_git_settings
from robota.workspace.process.withheld_variables import NOTHING_NAMED, WithheldVariables

# A variable that identifies the processes of a command, even outside its process group and session.
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

# The first ones make bash run a file before every command or change its meaning; the rest belong to our own Python.
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
# Exported functions: bash would define them before the command, and they can shadow a program.
BASH_FUNCTION = "BASH_FUNC_"
# In other encodings (GBK, Big5, Shift JIS …), a backslash or a bar can be the second half of a character: bash would
# read a command differently from how it was checked.
PLAIN_LOCALE = re.compile(r"(?:C|POSIX)(?:\..*)?|[^.]*\.(?:utf-?8|iso-?8859|koi8|cp125)[^.]*", re.IGNORECASE)
OUR_LOCALE = "C.UTF-8"
LOADER = ("LD_", "GLIBC_TUNABLES", "DYLD_")


class CommandEnvironment:
    """Builds the environments of a session's commands: `inherited`, `added` by the settings, minus what is `withheld`.

    Computed once for sandboxed and once for other commands; after that only the mark differs.
    """

    def __init__(
        self,
        added: Mapping[str, str] | None = None,
        withheld: WithheldVariables = NOTHING_NAMED,
        inherited: Mapping[str, str] | None = None,
    ) -> None:
        self._inherited = inherited
        self._added = without_loader_settings(added or {})
        self._withheld = withheld
        self._known: dict[tuple[Any, ...], dict[str, str]] = {}

    def of_command(self, mark: str, git_settings: Mapping[str, str], *, is_sandboxed: bool) -> dict[str, str]:
        """The environment of one command; `git_settings` apply to this command only."""
        kind = (is_sandboxed, *git_settings.items())
        if kind not in self._known:
            own = command_environment({**(os.environ if self._inherited is None else self._inherited), **self._added})
            kept_back = self._withheld.without_secrets if is_sandboxed else self._withheld.without_own_keys
            self._known[kind] = with_git_settings(kept_back(own), git_settings)
        return marked(self._known[kind], mark)


def command_environment(own: Mapping[str, str]) -> dict[str, str]:
    """The environment for commands, derived from `own`, the environment of Robota itself."""
    passed = {
        name: value for name, value in own.items() if name not in NOT_PASSED_ON and not name.startswith(BASH_FUNCTION)
    }
    if passed.get("VIRTUAL_ENV") == sys.prefix:
        del passed["VIRTUAL_ENV"]
    if "PATH" in passed:
        passed["PATH"] = clean_path(passed["PATH"], None)
    return {**passed, **_locale_settings(passed), **NON_INTERACTIVE}


def _locale_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """What to set so that bash reads the characters of a command as they were checked."""
    chosen = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if environment.get(name)), None)
    if chosen is None or PLAIN_LOCALE.fullmatch(environment[chosen]):
        return {}
    return {"LC_ALL" if chosen == "LC_ALL" else "LC_CTYPE": OUR_LOCALE}


def without_loader_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Remove the variables of the dynamic loader: they inject code into every program, the sandbox's own included."""
    return {name: value for name, value in environment.items() if not name.startswith(LOADER)}


def marked(environment: Mapping[str, str], mark: str) -> dict[str, str]:
    """Add the mark of one command. If Robota itself runs inside a command, the outer mark is kept."""
    return {**environment, COMMAND_MARK: f"{environment.get(COMMAND_MARK, '')}{mark};"}


def unmarked(environment: Mapping[str, str]) -> dict[str, str]:
    """Remove all marks, for a process that must outlive every command."""
    return {name: value for name, value in environment.items() if name != COMMAND_MARK}
