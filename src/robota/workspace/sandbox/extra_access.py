"""Check what the sandbox can be opened for, for one command: connecting to a host, or writing in a directory outside.

A directory is opened only if nothing in it is executed or obeyed by programs outside, as far as its path and its
content show. What is in doubt is not opened.
"""

import fnmatch
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from robota.config.settings.allowed_hosts import AllowedName, NoHost, allowed_host
from robota.workspace.files.path_status import may_be_present
from robota.workspace.files.protected_names import PROTECTED_NAMES

# Directories of the operating system and of package managers, and other users' homes. A command that has to write there
# must run without the sandbox.
OF_THE_SYSTEM: Final = re.compile(
    r"Applications|Library|System|afs|bin|boot|cores|dev|etc|gnu|home|lib\w*|lost\+found|nix|opt|proc|root|run|sbin|snap"
    r"|sys|usr|var"
)
FOR_DATA: Final = (Path("/var/tmp"),)
# Desktops start what is put there; programs and their libraries are in the others.
OBEYED: Final = re.compile(
    r"\..*|applications|autostart|desktop|library|scripts?|startup|templates|s?bin|lib\d*|go|snap|node_modules"
    r"|site-packages|(?:ana|mini)conda\d*|(?:mamba|mini)forge\d*"
)
PROTECTED: Final = re.compile("|".join(fnmatch.translate(name.pattern.casefold()) for name in PROTECTED_NAMES))
BARE_REPOSITORY: Final = frozenset({"HEAD", "objects", "refs"})
MAX_ENTRIES: Final = 5_000
MIN_DEPTH: Final = 3  # parts including the root: /var/tmp, /home/user


def problem_with_extra_access(
    entry: str, root: Path, home: Path | None, environment: Mapping[str, str] = os.environ
) -> str | None:
    """Why the sandbox cannot be opened for this, as text to follow a colon; None if the user can be asked."""
    if not entry.startswith("/"):
        try:
            host = allowed_host(entry)
        except NoHost as error:
            return str(error)
        return None if isinstance(host, AllowedName) else "a single host name is required"
    directory = Path(entry)
    if ".." in directory.parts or directory.resolve() != directory or not directory.is_dir():
        return "it is not a directory, or is reached through a link"
    return (
        _problem_with_owner(directory, root, home)
        or _problem_with_name(directory, home, environment)
        or _problem_with_content(directory)
    )


def describe_extra_access(entries: Sequence[str]) -> str:
    """What a command may do with these: `connect to example.com and write in /srv/data`."""
    hosts = ", ".join(entry for entry in entries if not entry.startswith("/"))
    directories = ", ".join(entry for entry in entries if entry.startswith("/"))
    parts = (f"connect to {hosts}" if hosts else "", f"write in {directories}" if directories else "")
    return " and ".join(part for part in parts if part)


def _problem_with_owner(directory: Path, root: Path, home: Path | None) -> str | None:
    is_for_data = any(directory.is_relative_to(each) for each in (*FOR_DATA, *((home,) if home else ())))
    if len(directory.parts) < MIN_DEPTH or (OF_THE_SYSTEM.fullmatch(directory.parts[1]) and not is_for_data):
        return "it belongs to the system, or to another user"
    if (
        root.is_relative_to(directory)
        or directory.is_relative_to(root)
        or (home is not None and home.is_relative_to(directory))
    ):
        return "it is the workspace, the home directory, or a parent of them"
    repository = next((each for each in (directory, *directory.parents) if _is_repository(each)), None)
    return None if repository is None else f"it is in the repository {str(repository)!r}"


def _problem_with_name(directory: Path, home: Path | None, environment: Mapping[str, str]) -> str | None:
    inner = directory.relative_to(home) if home is not None and directory.is_relative_to(home) else directory
    named = next((name for name in inner.parts if OBEYED.fullmatch(name.casefold())), None)
    if named is not None:
        return f"programs may run, or take their settings from, what is in {named!r}"
    searched = next((each for each in _searched(environment) if _overlap(directory, each)), None)
    return None if searched is None else f"programs are searched for in {str(searched)!r}"


def _searched(environment: Mapping[str, str]) -> Iterator[Path]:
    """Directories that programs are started from, or where they look for code or settings."""
    for name, value in environment.items():
        if name.endswith("PATH") or name.startswith(("XDG_CONFIG", "XDG_DATA")):
            yield from (Path(os.path.realpath(each)) for each in value.split(os.pathsep) if each.startswith("/"))


def _overlap(one: Path, other: Path) -> bool:
    return other != Path("/") and (one.is_relative_to(other) or other.is_relative_to(one))


def _is_repository(directory: Path) -> bool:
    return may_be_present(directory / ".git") or all(may_be_present(directory / name) for name in BARE_REPOSITORY)


def _problem_with_content(directory: Path) -> str | None:
    """What in the directory is a program, or is obeyed by one. Large directories are not searched, so not opened."""
    try:
        for count, entry in enumerate(_entries(directory)):
            if count >= MAX_ENTRIES:
                return f"it contains more than {MAX_ENTRIES:,} files, too many to check them"
            if _is_program(entry) or _is_obeyed(entry.name.casefold()):
                return f"programs may run or obey {entry.path!r}"
    except OSError:
        return "not all of it can be read, to check what is in it"
    return None


def _is_program(entry: "os.DirEntry[str]") -> bool:
    mode = entry.stat(follow_symlinks=False).st_mode
    return stat.S_ISREG(mode) and bool(mode & 0o111)


def _is_obeyed(name: str) -> bool:
    return OBEYED.fullmatch(name) is not None or PROTECTED.match(name) is not None


def _entries(directory: Path) -> Iterator["os.DirEntry[str]"]:
    waiting = [str(directory)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
