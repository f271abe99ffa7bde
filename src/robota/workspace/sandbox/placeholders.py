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
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from robota.workspace.files.confined_paths import DIRECTORY_FLAGS, HeldRoot, walk_to_directory
from robota.workspace.files.path_status import Presence, presence_of
from robota.workspace.problems import CommandNotStarted
from robota.workspace.sandbox.resource_exhaustion import raise_if_exhausted

# The modification time that identifies a placeholder: a directory that was filled or made by hand has another one.
MARK_S: Final = 0x524F424F
TRIES: Final = 200
PAUSE_S: Final = 0.005
# Robota's own directory in the workspace, which is locked. The name of the pool in it, and its maximum size.
OWN_DIRECTORY: Final = ".robota"
POOL: Final = "placeholders"
MAX_POOLED: Final = 100


class Placeholders:
    """Creates the missing `names` as empty directories until `release` is called.

    `standing` are the names that are placeholders, including ones created for other commands. `unblocked` are
    missing names that could not be blocked, although a command could create them.
    """

    def __init__(self, names: Sequence[Path], held_root: HeldRoot) -> None:
        """The names are beneath the root, without a link on the way; one of them is Robota's own directory."""
        own = held_root.path / OWN_DIRECTORY
        self._names = [*(name for name in names if name != own), own]
        with ExitStack() as opened:
            self._top = _Top(held_root.path, os.dup(held_root.descriptor))
            opened.callback(os.close, self._top.descriptor)
            self._lock = _shared_lock(self._top)
            if self._lock is not None:
                opened.callback(os.close, self._lock)
            with _PlaceholderPool(self._top) as pool:
                self.standing = frozenset(name for name in names if pool.ensure(name))
                missing = (name for name in names if name not in self.standing)
                self.unblocked = tuple(name for name in missing if pool.could_be_created(name))
            self._opened = opened.pop_all()

    def release(self) -> None:
        """Remove placeholders that are still empty, unless another command needs them. Idempotent."""
        lock, self._lock = self._lock, None
        with self._opened:
            if lock is None or not _is_locked_by_nobody_else(lock):
                return  # another command runs here and will clean up
            with _PlaceholderPool(self._top) as pool:
                for name in self._names:
                    pool.safe_remove(name, was_empty=name in self.standing)


class _Top(NamedTuple):
    """The root of the workspace: its path, and a descriptor of the directory that was there when the session began."""

    path: Path
    descriptor: int


class _PlaceholderPool:
    """Unused placeholders, none if the directory for the pool is itself a placeholder; and where they are needed.

    Paths are reached beneath the root without following a link: a directory on the way may be replaced by one.
    """

    def __init__(self, top: _Top) -> None:
        self._top = top
        self._around: dict[Path, int] = {top.path: top.descriptor}
        self._opened = ExitStack()
        self._directory = _open_pool(top.descriptor)
        self._names = [] if self._directory is None else os.listdir(self._directory)  # noqa: PTH208 - of a descriptor
        if self._directory is not None:
            self._opened.callback(os.close, self._directory)
        taken = frozenset(self._names)
        self._free_names = (name for name in map(str, range(MAX_POOLED)) if name not in taken)

    def __enter__(self) -> "_PlaceholderPool":
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def ensure(self, path: Path) -> bool:
        """Create a placeholder if nothing exists there; returns whether it is a placeholder now."""
        try:
            around = self._directory_of(path)
        except OSError as error:
            raise_if_exhausted(error)
            return False
        if presence_of(path.name, around) is not Presence.ABSENT:
            return is_placeholder(path.name, around)
        while self._directory is not None and self._names:
            name = self._names.pop()
            # Another command may have taken it, another program put a file into it, or it cannot be moved here.
            with suppress(OSError):
                if is_placeholder(name, self._directory):
                    os.rename(name, path.name, src_dir_fd=self._directory, dst_dir_fd=around)
                    return _is_marked(path.name, around)
        return _make_entry(path.name, around)

    def could_be_created(self, path: Path) -> bool:
        """Whether a command could create a name that is not blocked: it can change the mode of our directory."""
        try:
            around = self._directory_of(path)
        except PermissionError:
            return False  # see `workspace_mounts` for directories that we cannot look into
        except OSError as error:
            raise_if_exhausted(error)
            return True  # such as a link that was put in place of a directory
        if presence_of(path.name, around) is Presence.PRESENT:
            return False
        try:
            return os.fstat(around).st_uid == os.geteuid() or os.access(".", os.W_OK, dir_fd=around)
        except OSError:
            return True

    def safe_remove(self, path: Path, *, was_empty: bool) -> None:
        """Move it to the pool, or remove it, if it is still empty; else leave it."""
        with suppress(OSError):
            around = self._directory_of(path)
            # Whatever fills a directory takes the mark away.
            if not (_is_marked(path.name, around) if was_empty else is_placeholder(path.name, around)):
                return
            if self._directory is None or not self._move_to_pool(path.name, around, self._directory):
                os.rmdir(path.name, dir_fd=around)

    def _directory_of(self, path: Path) -> int:
        """A descriptor of the directory that the path is in."""
        if path.parent not in self._around:
            descriptor = walk_to_directory(self._top.descriptor, str(path.parent.relative_to(self._top.path)))
            self._opened.callback(os.close, descriptor)
            self._around[path.parent] = descriptor
        return self._around[path.parent]

    def _move_to_pool(self, blocked_name: str, around: int, directory: int) -> bool:
        name = next(self._free_names, None)
        if name is None:
            return False
        try:
            os.rename(blocked_name, name, src_dir_fd=around, dst_dir_fd=directory)
        except OSError:
            return False
        if not _is_marked(name, directory):  # another program put a file into it at this moment
            os.rename(name, blocked_name, src_dir_fd=directory, dst_dir_fd=around)
        return True


def remove_pool(held_root: HeldRoot) -> None:
    """Remove the pool. A command that was about to use one of its directories creates a new one.

    An archive can contain a link in its place, so it is opened like the pool: what a link leads to is not touched.
    """
    with suppress(OSError), _opened(OWN_DIRECTORY, held_root.descriptor) as around:
        with _opened(POOL, around) as directory:
            for name in os.listdir(directory):  # noqa: PTH208 - of a descriptor
                os.rmdir(name, dir_fd=directory)
        os.rmdir(POOL, dir_fd=around)


def remove_abandoned(names: Sequence[str], held_root: HeldRoot) -> None:
    """Remove those names at the top of the workspace that are placeholders, unless a command that needs them runs."""
    # Our own directory is always created first: without it, there are no others.
    top = held_root.descriptor
    with suppress(OSError), _opened(OWN_DIRECTORY, top) as lock:
        if not _is_locked_by_nobody_else(lock):
            return  # a command runs here and will clean up
        for name in (*(name for name in names if name != OWN_DIRECTORY), OWN_DIRECTORY):
            if is_placeholder(name, top):
                os.rmdir(name, dir_fd=top)


def is_placeholder(path: str | Path, directory: int | None = None) -> bool:
    """Whether this is an empty directory that blocks a missing name while a command runs.

    The mark alone proves nothing: an archive can bring a link or a full directory with any modification time. A
    relative `path` is in the open `directory`.
    """
    try:
        status = os.stat(path, dir_fd=directory, follow_symlinks=False)
        if status.st_mtime != MARK_S:
            return False
        descriptor = os.open(path, DIRECTORY_FLAGS, dir_fd=directory)
    except (OSError, ValueError):
        return False
    try:
        with os.scandir(descriptor) as entries:
            return next(entries, None) is None
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _is_marked(path: str | Path, directory: int | None = None) -> bool:
    """Whether a placeholder, which was empty, is still one. Opening and listing it takes ten times as long."""
    try:
        return os.stat(path, dir_fd=directory, follow_symlinks=False).st_mtime == MARK_S
    except (OSError, ValueError):
        return False


def _shared_lock(top: _Top) -> int | None:
    """A descriptor with a shared lock; None if that is not possible: then nothing is ever removed."""
    for _ in range(TRIES):
        _make_entry(OWN_DIRECTORY, top.descriptor)
        try:
            # The user may have put a link there: only its target is locked then, nothing is created in it.
            descriptor = os.open(OWN_DIRECTORY, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=top.descriptor)
        except FileNotFoundError:
            if not os.access(".", os.W_OK, dir_fd=top.descriptor):
                return None
            continue  # removed just now, by the last command of another process
        except OSError as error:
            raise_if_exhausted(error)
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
        if _is_still(OWN_DIRECTORY, top.descriptor, descriptor):
            return descriptor
        os.close(descriptor)
    raise CommandNotStarted(
        f"The command was not run: another program has locked {str(top.path / OWN_DIRECTORY)!r}. End that program, "
        "then try again."
    )


def _is_locked_by_nobody_else(lock: int) -> bool:
    """Whether the lock could be made exclusive."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_still(name: str, directory: int, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.stat(name, dir_fd=directory), os.fstat(descriptor))
    return False


def _open_pool(top: int) -> int | None:
    """Open the directory of the pool, creating it if necessary; None if there cannot be one."""
    if is_placeholder(OWN_DIRECTORY, top):
        return None
    with suppress(OSError), _opened(OWN_DIRECTORY, top) as around:
        with suppress(FileExistsError):
            os.mkdir(POOL, 0o755, dir_fd=around)
        return os.open(POOL, DIRECTORY_FLAGS, dir_fd=around)
    return None


@contextmanager
def _opened(path: str | Path, directory: int | None = None) -> Iterator[int]:
    """A descriptor of a directory, which must not be a link; a relative `path` is in the open `directory`."""
    descriptor = os.open(path, DIRECTORY_FLAGS, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _make_entry(name: str, directory: int) -> bool:
    try:
        os.mkdir(name, 0o755, dir_fd=directory)
        os.utime(name, (MARK_S, MARK_S), dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        return is_placeholder(name, directory)
    except OSError as error:
        raise_if_exhausted(error)
        return is_placeholder(name, directory)
    return True
