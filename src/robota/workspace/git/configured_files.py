"""Files in a workspace that git obeys because its configuration names them, as reported by git itself.

`core.hooksPath` names a directory of hooks, settings include other files, and filters, drivers, aliases and monitors
can be scripts of the project.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired
from typing import Final

import msgspec

from robota.workspace.outside_program import find_program, run_outside
from robota.workspace.process.environment import command_environment

TIMEOUT_S: Final = 5.0
HOOKS: Final = "core.hookspath"
INCLUDE: Final = re.compile(r"include(?:if\..*)?\.path", re.DOTALL)
# Settings whose value is a program with its arguments, or a file of rules for such programs.
NAMES_PROGRAM: Final = re.compile(
    r"core\.(?:fsmonitor|sshcommand|editor|pager|askpass|gitproxy|attributesfile|alternaterefscommand)"
    r"|(?:alias|pager|filter|credential|gpg|hook|man|browser|difftool|mergetool|guitool|trailer|sendemail)\..*"
    r"|diff\.(?:external|.*\.(?:command|textconv))|merge\..*\.driver|remote\..*\.(?:uploadpack|receivepack|vcs)"
    r"|sequence\.editor|interactive\.difffilter|uploadpack\.packobjectshook|init\.templatedir",
    re.DOTALL,
)
ORIGIN: Final = "file:"


class ConfiguredFiles(msgspec.Struct, frozen=True, kw_only=True):
    """`paths` are in the workspace and must be neither changed nor created. `unprotectable`: why that fails."""

    paths: tuple[Path, ...] = ()
    unprotectable: str = ""


class _GitNotAsked(Exception):
    """git could not be started, or did not answer."""


def find_configured_files(root: Path, env: Mapping[str, str]) -> ConfiguredFiles:
    """The files that git obeys when it runs in `root`; none without git or without a repository."""
    program = find_program("git", env, not_beneath=root)
    if program is None:
        return ConfiguredFiles()
    try:
        top = _git(program, root, env, "rev-parse", "--show-toplevel")
        if top is None:
            return ConfiguredFiles()
        listed = _git(program, root, env, "config", "--null", "--show-origin", "--list")
    except _GitNotAsked:
        listed = None
    if listed is None or top is None:
        return ConfiguredFiles(unprotectable="git could not be asked what it obeys")
    return _protectable(tuple(dict.fromkeys(_named_files(listed, Path(top.removesuffix("\n")), root, env))), root)


def hooks_directory(root: Path, env: Mapping[str, str]) -> Path | None:
    """The directory that git takes hooks from when it runs in `root`; None without git or without a repository."""
    program = find_program("git", env, not_beneath=root)
    try:
        named = None if program is None else _git(program, root, env, "rev-parse", "--git-path", "hooks")
    except _GitNotAsked:
        return None
    return None if named is None else Path(_normalised(root / named.removesuffix("\n")))


def _protectable(named: tuple[str, ...], root: Path) -> ConfiguredFiles:
    real_root = Path(os.path.realpath(root))
    protectable: dict[Path, None] = {}
    for path in named:
        real = Path(os.path.realpath(path))
        if Path(path).is_relative_to(real_root) and real != Path(path):
            return ConfiguredFiles(unprotectable=f"git obeys {path!r}, which is a link that a command could replace")
        if real == real_root:
            return ConfiguredFiles(unprotectable="git takes hooks from the workspace itself")
        if real.is_relative_to(real_root):
            protectable[real] = None
    return ConfiguredFiles(paths=tuple(protectable))


def _named_files(listed: str, top: Path, cwd: Path, env: Mapping[str, str]) -> Iterator[str]:
    """The files that hold the settings, and the files that the settings name."""
    words = listed.split("\0")
    for origin, entry in zip(words[::2], words[1::2], strict=False):
        key, _, value = entry.partition("\n")
        file = cwd / origin.removeprefix(ORIGIN) if origin.startswith(ORIGIN) else None
        if file is not None:
            yield _normalised(file)
        if key == HOOKS:
            yield _normalised(top / _without_tilde(value, env))
        elif INCLUDE.fullmatch(key) and file is not None:
            yield _normalised(file.parent / _without_tilde(value, env))
        elif NAMES_PROGRAM.fullmatch(key):
            yield from _files_of_command(value, top, env)


def _files_of_command(value: str, top: Path, env: Mapping[str, str]) -> Iterator[str]:
    """The program, if it is given as a path, and every argument that is an existing file."""
    try:
        words = shlex.split(value.removeprefix("!"))
    except ValueError:
        words = value.removeprefix("!").split()
    for number, word in enumerate(words):
        path = top / _without_tilde(word, env)
        is_program = number == 0 and "/" in word and set(word).isdisjoint("$`;&|<>(){}*?")
        if is_program or _is_file(path):
            yield _normalised(path)


def _without_tilde(path: str, env: Mapping[str, str]) -> str:
    return env.get("HOME", "/") + path[1:] if path.startswith("~/") else path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _normalised(path: Path) -> str:
    """The path without `..`; links are not followed."""
    return os.path.normpath(str(path).replace("\0", ""))


def _git(program: str, cwd: Path, env: Mapping[str, str], *arguments: str) -> str | None:
    """The output of git; None if it fails. The commands used here run no program that a repository names."""
    own = {name: value for name, value in command_environment(env).items() if not name.startswith("GIT_")}
    try:
        done = run_outside(
            [program, "-c", "safe.bareRepository=explicit", *arguments],
            workspace=cwd,
            cwd=cwd,
            env=own,
            stdin=DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
        )
    except (OSError, TimeoutExpired) as error:
        raise _GitNotAsked from error
    return os.fsdecode(done.stdout) if done.returncode == 0 else None
