"""Give the owner of a directory the rights to it that a command has taken away, so that it hides and keeps nothing."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from robota.workspace.files.confined_paths import DIRECTORY_FLAGS, DIRECTORY_HELD

HELD: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def open_step_by_step(root: str, relative: str) -> int:
    """Open a directory beneath `root`, and give the owner all rights to each one, and the root, that lacks them.

    No link is followed, and the path may be longer than the kernel takes at once.
    """
    descriptor = _open_for_owner(None, root)
    for name in Path(relative).parts:
        try:
            deeper = _open_for_owner(descriptor, name)
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor


def give_rights(top: int, paths: Iterable[str]) -> None:
    """Give the owner all rights to the directories of these paths, and the right to read the files there.

    What is not there, or belongs to somebody else, is left as it is.
    """
    for directory, names in _by_directory(paths).items():
        try:
            opened = open_step_by_step(f"/proc/self/fd/{top}/.", directory)
        except OSError:
            continue
        try:
            for name in names:
                _make_readable(opened, name)
        finally:
            os.close(opened)


def _by_directory(paths: Iterable[str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for path in paths:
        directory, name = os.path.split(path)
        names.setdefault(directory, []).append(name)
    return names


def _make_readable(directory: int, name: str) -> None:
    try:
        held = os.open(name, HELD, dir_fd=directory)
    except OSError:
        return
    try:
        mode = os.fstat(held).st_mode
        if stat.S_ISREG(mode) and not mode & stat.S_IRUSR:
            Path(f"/proc/self/fd/{held}").chmod(stat.S_IMODE(mode) | stat.S_IRUSR)
    except OSError:
        return
    finally:
        os.close(held)


def _open_for_owner(parent: int | None, name: str) -> int:
    held = os.open(name, DIRECTORY_HELD, dir_fd=parent)
    try:
        mode = stat.S_IMODE(os.fstat(held).st_mode)
        if mode & stat.S_IRWXU != stat.S_IRWXU:
            # A directory that is held in this way has no other name by which its mode can be changed.
            Path(f"/proc/self/fd/{held}").chmod(mode | stat.S_IRWXU)
        return os.open(".", DIRECTORY_FLAGS, dir_fd=held)
    finally:
        os.close(held)
