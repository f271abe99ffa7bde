"""What programs on the PATH lead to: installations behind links, interpreters of scripts, the base of a venv."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from robota.workspace.files.path_status import mode_behind

ON_THE_PATH: Final = "on the PATH"
# Packages of the operating system do not lead into a home.
OF_THE_SYSTEM: Final = frozenset(map(Path, ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/games")))
BIN_NAMES: Final = frozenset({"bin", "sbin", "libexec", "shims"})
NODE_MODULES: Final = "node_modules"
# What an installation has next to its directory of programs.
INSTALLED: Final = ("lib", "lib64", "libexec", "share", "pyvenv.cfg", "conda-meta")
# Shared by many programs, so never taken for the installation of one.
SHARED: Final = frozenset({".local", ".config", ".cache", "share", "state"})
MAX_PROGRAMS: Final = 5_000
MAX_FIRST_LINE: Final = 512
SHEBANG: Final = re.compile(rb"#!\s*(/[^\s\0]+)")
BASE_OF_VENV: Final = re.compile(r"(?m)^home\s*=\s*(/.*\S)\s*$")


def programs_on_path(
    directories: Sequence[Path], may_be_hidden: Callable[[str], bool], root: Path
) -> Iterator[tuple[Path, str]]:
    """The programs that lead to somewhere `may_be_hidden` is true for, each with why; the directories come first.

    The first lines of scripts in the workspace `root` are not followed: a command could write anything there.
    """
    for directory in dict.fromkeys(directories):
        is_hidden = may_be_hidden(os.path.realpath(directory)) or may_be_hidden(str(directory))
        if is_hidden:
            yield directory, ON_THE_PATH
        if is_hidden or directory not in OF_THE_SYSTEM:
            yield from _leading_on(directory, may_be_hidden, root, is_hidden=is_hidden)


def installation(program: Path) -> Path:
    """The directory that a program, given by its real path, needs; at least the program itself."""
    if NODE_MODULES in program.parts:
        return Path(*program.parts[: program.parts.index(NODE_MODULES) + 1])
    programs = next((parent for parent in (program, *program.parents) if parent.name in BIN_NAMES), None)
    if programs is None:
        return program
    return programs.parent if _is_installation(programs.parent) else programs


def base_of_venv(prefix: Path) -> Path | None:
    """The directory with the Python that a virtual environment is made from; None if it is none."""
    try:
        match = BASE_OF_VENV.search((prefix / "pyvenv.cfg").read_text("utf-8", "replace"))
    except OSError:
        return None
    return None if match is None else Path(match[1])


def is_python_installation(prefix: Path) -> bool:
    """Whether a directory is an installation of Python, with its standard library, and thus contains only that."""
    return any(next((prefix / name).glob("py*/os.py"), None) is not None for name in ("lib", "lib64"))


def _leading_on(
    directory: Path, may_be_hidden: Callable[[str], bool], root: Path, *, is_hidden: bool
) -> Iterator[tuple[Path, str]]:
    """Links of a directory that lead to a hidden path, and interpreters there of its scripts."""
    for entry in _programs(directory):
        real = os.path.realpath(entry.path)
        if entry.is_symlink() and may_be_hidden(real):
            yield Path(entry.path), f"{entry.name} on the PATH"
        elif not is_hidden:
            continue
        if Path(real).is_relative_to(root):
            continue
        interpreter = _interpreter(real)
        if interpreter is not None and (may_be_hidden(interpreter) or may_be_hidden(os.path.realpath(interpreter))):
            yield Path(interpreter), f"interpreter of {entry.name}"


def _programs(directory: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(directory) as entries:
            return [entry for entry, _ in zip(entries, range(MAX_PROGRAMS), strict=False)]
    except OSError:
        return []


def _interpreter(program: str) -> str | None:
    try:
        descriptor = os.open(program, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        match = SHEBANG.match(os.read(descriptor, MAX_FIRST_LINE))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None if match is None else os.fsdecode(match[1])


def _is_installation(prefix: Path) -> bool:
    has_parts = any(mode_behind(prefix / name) for name in INSTALLED)
    return has_parts and prefix.name not in SHARED and not mode_behind(prefix / ".git")
