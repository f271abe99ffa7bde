"""Empty directories in place of missing protected names while a command runs, so that it cannot create them.

A mount needs something to lie on. git does not see empty directories, so they change no status. They must not go while
another command is running: the kernel would take away its mounts with them. So every command holds a shared lock, also
across processes, and whoever can get it alone tidies up; what a killed Robota left is tidied up by the next one.

Between commands they wait in a directory of Robota's own, because twenty times making and removing one takes a file
system longer than everything else that is done for a command, and moving it hardly any time.
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
# Where they wait, in the directory on which the locks are. More than this many are not kept.
WAITING: Final = "placeholders"
MAX_WAITING: Final = 100


class Placeholders:
    """Makes all `names` exist, the missing ones as empty directories, until `release` is called.

    `standing` are those of the names that are such directories, whoever made them.
    """

    def __init__(self, names: Sequence[Path], lock_directory: Path) -> None:
        """`lock_directory` is one of the names: the directory on which the locks are."""
        self._names = [*(name for name in names if name != lock_directory), lock_directory]
        self._lock = _shared_lock(lock_directory)
        with _WaitingPlaceholders(lock_directory) as waiting:
            self.standing = frozenset(name for name in names if waiting.put_at(name))

    def release(self) -> None:
        """Take away those that are still empty, if nobody else needs them. Doing it twice does nothing."""
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with _WaitingPlaceholders(self._names[-1]) as waiting:
                for name in self._names:
                    waiting.safe_remove(name)
        except OSError:
            pass  # somebody else runs a command here and will do it
        finally:
            os.close(lock)


class _WaitingPlaceholders:
    """Those that stand nowhere just now; none where the directory for them would itself be a placeholder."""

    def __init__(self, lock_directory: Path) -> None:
        self._directory = _open_waiting(lock_directory)
        self._names = [] if self._directory is None else os.listdir(self._directory)  # noqa: PTH208 - of a descriptor

    def __enter__(self) -> "_WaitingPlaceholders":
        return self

    def __exit__(self, *_: object) -> None:
        if self._directory is not None:
            os.close(self._directory)

    def put_at(self, place: Path) -> bool:
        """Make sure that there is something, and say whether it is a placeholder."""
        if os.path.lexists(place):
            return is_placeholder(place)
        while self._directory is not None and self._names:
            name = self._names.pop()
            # Another command may have taken it, somebody may have put something into it, or it cannot be moved here.
            with suppress(OSError):
                if _is_marked(name, self._directory):
                    os.rename(name, place, src_dir_fd=self._directory)
                    return _is_marked(str(place), None)
        return _make(place)

    def safe_remove(self, place: Path) -> None:
        """Put it with the others that wait if it is still empty, else leave it."""
        with suppress(OSError):
            if not _is_marked(str(place), None):
                return
            if self._directory is None or not self._moved_away(place, self._directory):
                place.rmdir()

    def _moved_away(self, place: Path, directory: int) -> bool:
        name = next((name for name in map(str, range(MAX_WAITING)) if name not in self._names), None)
        if name is None:
            return False
        try:
            os.rename(place, name, dst_dir_fd=directory)
        except OSError:
            return False
        if _is_marked(name, directory):
            self._names.append(name)
        else:  # somebody has put something into it at this very moment
            os.rename(name, place, src_dir_fd=directory)
        return True


def remove_waiting(lock_directory: Path) -> None:
    """Remove all that stand nowhere. Whoever is about to use one makes another."""
    directory = lock_directory / WAITING
    with suppress(OSError):
        for place in directory.iterdir():
            place.rmdir()
        directory.rmdir()


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
                name.rmdir()
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
        f"The command was not run: another program has locked {str(lock_directory)!r}. End that program, then try "
        "again."
    )


def _is_still(place: Path, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(place.stat(), os.fstat(descriptor))
    return False


def _open_waiting(lock_directory: Path) -> int | None:
    """The directory in which they wait, made if need be; None where they cannot wait."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        if _is_marked(str(lock_directory), None):
            return None
        around = os.open(lock_directory, flags)
    except OSError:
        return None
    try:
        with suppress(FileExistsError):
            os.mkdir(WAITING, 0o755, dir_fd=around)
        return os.open(WAITING, flags, dir_fd=around)
    except OSError:
        return None
    finally:
        os.close(around)


def _is_marked(name: str, directory: int | None) -> bool:
    return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mtime == MARK_S


def _make(name: Path) -> bool:
    # Where we cannot make it, a command with no more rights than ours cannot either.
    with suppress(OSError):
        name.mkdir(mode=0o755)
        os.utime(name, (MARK_S, MARK_S), follow_symlinks=False)
        return True
    return is_placeholder(name)
