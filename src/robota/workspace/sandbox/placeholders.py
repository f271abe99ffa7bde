"""Empty directories in place of missing protected names while a command runs, so that it cannot create them.

A mount needs something to lie on. git does not see empty directories, so they change no status. They must not go while
another command is running: the kernel would take away its mounts with them. So every command holds a shared lock, also
across processes, and whoever can get it alone tidies up; what a killed Robota left is tidied up by the next one.
"""

import fcntl
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from robota.workspace.problems import CommandNotStarted

# By this time of change a placeholder is known: putting something into it, or making it by hand, gives another one.
MARK_S: Final = 0x524F424F
TRIES: Final = 200
PAUSE_S: Final = 0.005


class Placeholders:
    """Makes all `names` exist, the missing ones as empty directories, until `release` is called."""

    def __init__(self, names: Sequence[Path], lock_directory: Path) -> None:
        """`lock_directory` is one of the names: the directory on which the locks are."""
        self._names = [*(name for name in names if name != lock_directory), lock_directory]
        self._lock = _shared_lock(lock_directory)
        for name in names:
            _make(name)

    def release(self) -> None:
        """Remove those that are still empty, if nobody else needs them. Doing it twice does nothing."""
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in self._names:
                _remove(name)
        except OSError:
            pass  # somebody else runs a command here and will do it
        finally:
            os.close(lock)


def remove_abandoned(names: Sequence[Path], lock_directory: Path) -> None:
    """Remove those of the names that are placeholders, if no command runs that needs them."""
    try:
        lock = os.open(lock_directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # whoever makes placeholders makes this one first
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in (*(name for name in names if name != lock_directory), lock_directory):
            if is_placeholder(name):
                _remove(name)
    except OSError:
        pass  # somebody runs a command here and will do it
    finally:
        os.close(lock)


def is_placeholder(place: Path) -> bool:
    """Whether this is an empty directory that stands for a missing name while some command runs."""
    try:
        is_marked = place.stat(follow_symlinks=False).st_mtime == MARK_S
        return is_marked and next(place.iterdir(), None) is None
    except (OSError, ValueError):
        return False


def _shared_lock(lock_directory: Path) -> int | None:
    """A descriptor with a shared lock; None where that cannot be had, and then nothing is ever removed."""
    for _ in range(TRIES):
        _make(lock_directory)
        try:
            descriptor = os.open(lock_directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # removed just now, by the last command of somebody else
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            time.sleep(PAUSE_S)
            continue
        except OSError:
            os.close(descriptor)
            return None
        if _is_still(lock_directory, descriptor):
            return descriptor
        os.close(descriptor)
    raise CommandNotStarted(
        f"The command was not run: another program keeps {str(lock_directory)!r} locked. "
        "End that program, then try again."
    )


def _is_still(place: Path, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(place.stat(), os.fstat(descriptor))
    return False


def _make(name: Path) -> None:
    # Where we cannot make it, a command with no more rights than ours cannot either.
    with suppress(OSError):
        name.mkdir(mode=0o755)
        os.utime(name, (MARK_S, MARK_S), follow_symlinks=False)


def _remove(name: Path) -> None:
    with suppress(OSError):
        if name.stat(follow_symlinks=False).st_mtime == MARK_S:
            name.rmdir()
