"""Create empty directories under missing protected names while a command runs, so that it cannot create them itself.

A mount needs a mount point. git ignores empty directories, so they do not show up in its status. They must not be
removed while another command is running, because the kernel would remove its mounts with them. So every command holds a
shared lock, also across processes, and a process that gets it exclusively cleans up; the next start of Robota cleans up
after a killed one.

Between commands they are kept in a pool, a directory of Robota's own: creating and removing twenty directories takes
longer than everything else that is done for a command, while moving them takes hardly any time.
"""

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from robota.workspace.problems import CommandNotStarted
from robota.workspace.sandbox.shortage import raise_if_short

# The modification time that identifies a placeholder: a directory that was filled or made by hand has another one.
MARK_S: Final = 0x524F424F
DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
TRIES: Final = 200
PAUSE_S: Final = 0.005
# The name of the pool in the directory with the locks, and its maximum size.
POOL: Final = "placeholders"
MAX_POOLED: Final = 100


class Placeholders:
    """Creates the missing `names` as empty directories until `release` is called.

    `standing` are the names that are placeholders, including ones created for other commands. `unblocked` are
    missing names that could not be blocked, although a command could create them.
    """

    def __init__(self, names: Sequence[Path], lock_directory: Path) -> None:
        """`lock_directory`, the directory that is locked, is one of the names."""
        self._names = [*(name for name in names if name != lock_directory), lock_directory]
        self._lock = _shared_lock(lock_directory)
        with _PlaceholderPool(lock_directory) as pool:
            self.standing = frozenset(name for name in names if pool.ensure(name))
        self.unblocked = tuple(name for name in names if name not in self.standing and _could_be_created(name))

    def release(self) -> None:
        """Remove placeholders that are still empty, unless another command needs them. Idempotent."""
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with _PlaceholderPool(self._names[-1]) as pool:
                for name in self._names:
                    pool.safe_remove(name, was_empty=name in self.standing)
        except OSError:
            pass  # another command runs here and will clean up
        finally:
            os.close(lock)


class _PlaceholderPool:
    """Unused placeholders; empty if the directory for the pool is itself a placeholder."""

    def __init__(self, lock_directory: Path) -> None:
        self._directory = _open_pool(lock_directory)
        self._names = [] if self._directory is None else os.listdir(self._directory)  # noqa: PTH208 - of a descriptor
        taken = frozenset(self._names)
        self._free_names = (name for name in map(str, range(MAX_POOLED)) if name not in taken)

    def __enter__(self) -> "_PlaceholderPool":
        return self

    def __exit__(self, *_: object) -> None:
        if self._directory is not None:
            os.close(self._directory)

    def ensure(self, place: Path) -> bool:
        """Create a placeholder if nothing exists there; returns whether it is a placeholder now."""
        if os.path.lexists(place):
            return is_placeholder(place)
        while self._directory is not None and self._names:
            name = self._names.pop()
            # Another command may have taken it, another program put a file into it, or it cannot be moved here.
            with suppress(OSError):
                if is_placeholder(name, self._directory):
                    os.rename(name, place, src_dir_fd=self._directory)
                    return _is_marked(place)
        return _make(place)

    def safe_remove(self, place: Path, *, was_empty: bool) -> None:
        """Move it to the pool, or remove it, if it is still empty; else leave it."""
        with suppress(OSError):
            # Whatever fills a directory takes the mark away.
            if not (_is_marked(place) if was_empty else is_placeholder(place)):
                return
            if self._directory is None or not self._move_to_pool(place, self._directory):
                place.rmdir()

    def _move_to_pool(self, place: Path, directory: int) -> bool:
        name = next(self._free_names, None)
        if name is None:
            return False
        try:
            os.rename(place, name, dst_dir_fd=directory)
        except OSError:
            return False
        if not _is_marked(name, directory):  # another program put a file into it at this moment
            os.rename(name, place, src_dir_fd=directory)
        return True


def remove_pool(lock_directory: Path) -> None:
    """Remove the pool. A command that was about to use one of its directories creates a new one.

    An archive can contain a link in its place, so it is opened like the pool: what a link leads to is not touched.
    """
    with suppress(OSError), _opened(lock_directory) as around:
        with _opened(POOL, around) as directory:
            for name in os.listdir(directory):  # noqa: PTH208 - of a descriptor
                os.rmdir(name, dir_fd=directory)
        os.rmdir(POOL, dir_fd=around)


def remove_abandoned(names: Sequence[Path], lock_directory: Path) -> None:
    """Remove the names that are placeholders, unless a command that needs them is running."""
    try:
        lock = os.open(lock_directory, DIRECTORY_FLAGS)
    except OSError:
        return  # this one is always created first, so there are no others
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for name in (*(name for name in names if name != lock_directory), lock_directory):
            if is_placeholder(name):
                name.rmdir()
    except OSError:
        pass  # a command runs here and will clean up
    finally:
        os.close(lock)


def is_placeholder(place: str | Path, directory: int | None = None) -> bool:
    """Whether this is an empty directory that blocks a missing name while a command runs.

    The mark alone proves nothing: an archive can bring a link or a full directory with any modification time. A
    relative `place` is in the open `directory`.
    """
    try:
        status = os.stat(place, dir_fd=directory, follow_symlinks=False)
        if status.st_mtime != MARK_S:
            return False
        descriptor = os.open(place, DIRECTORY_FLAGS, dir_fd=directory)
    except (OSError, ValueError):
        return False
    try:
        with os.scandir(descriptor) as entries:
            return next(entries, None) is None
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _is_marked(place: str | Path, directory: int | None = None) -> bool:
    """Whether a placeholder, which was empty, is still one. Opening and listing it takes ten times as long."""
    try:
        return os.stat(place, dir_fd=directory, follow_symlinks=False).st_mtime == MARK_S
    except (OSError, ValueError):
        return False


def _shared_lock(lock_directory: Path) -> int | None:
    """A descriptor with a shared lock; None if that is not possible: then nothing is ever removed."""
    for _ in range(TRIES):
        _make(lock_directory)
        try:
            descriptor = os.open(lock_directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            if not os.access(lock_directory.parent, os.W_OK):
                return None
            continue  # removed just now, by the last command of another process
        except OSError as error:
            raise_if_short(error)
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


def _open_pool(lock_directory: Path) -> int | None:
    """Open the directory of the pool, creating it if necessary; None if there cannot be one."""
    if is_placeholder(lock_directory):
        return None
    with suppress(OSError), _opened(lock_directory) as around:
        with suppress(FileExistsError):
            os.mkdir(POOL, 0o755, dir_fd=around)
        return os.open(POOL, DIRECTORY_FLAGS, dir_fd=around)
    return None


@contextmanager
def _opened(place: str | Path, directory: int | None = None) -> Iterator[int]:
    """A descriptor of a directory, which must not be a link; a relative `place` is in the open `directory`."""
    descriptor = os.open(place, DIRECTORY_FLAGS, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _make(name: Path) -> bool:
    try:
        name.mkdir(mode=0o755)
        os.utime(name, (MARK_S, MARK_S), follow_symlinks=False)
    except OSError as error:
        raise_if_short(error)
        return is_placeholder(name)
    return True


def _could_be_created(name: Path) -> bool:
    """Whether a command could create a missing name, although we could not: it can change the mode of our directory."""
    try:
        name.lstat()
    except FileNotFoundError:
        pass
    except (PermissionError, NotADirectoryError):
        return False  # nor can we look there: see `workspace_mounts`
    except OSError:
        return True  # such as a path that is too long for us, but not from inside
    else:
        return False
    try:
        return name.parent.stat().st_uid == os.geteuid() or os.access(name.parent, os.W_OK)
    except OSError:
        return False
