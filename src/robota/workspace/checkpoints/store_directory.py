"""The directory of a checkpoint store: created private, checked before use, locked during use; and its list."""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import make_private_directory
from robota.workspace.checkpoints.private_git import INDEX, CheckpointError, make_git_directory

LIST_NAME: Final = "checkpoints"
LOCK_NAME: Final = "lock"
WORKSPACE_NAME: Final = "workspace"
GIT_NAME: Final = "git"
MAX_WAIT_S: Final = 30.0
PAUSE_S: Final = 0.005


@contextmanager
def locked_store(directory: Path, workspace: Path) -> Iterator[Path]:
    """The git directory of the store, created if missing, locked for one process. Raises `CheckpointError`."""
    try:
        make_private(directory)
        with _locked(directory / LOCK_NAME):
            git_directory = directory / GIT_NAME
            _claim(directory, workspace)
            if not (git_directory / "HEAD").exists():
                make_git_directory(git_directory)
            # We hold the store's lock, so a lock of git was left by a killed process.
            (git_directory / f"{INDEX}.lock").unlink(missing_ok=True)
            yield git_directory
    except OSError as error:
        problem = f"The checkpoints in {directory} cannot be used: {error.strerror or error}. They were not changed"
        raise CheckpointError(f"{problem}; check the disk and the directory") from error


def make_private(directory: Path) -> None:
    """Create the directory of a store if it is missing. Raises `CheckpointError` if other users can write to it."""
    make_private_directory(directory)
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise CheckpointError(f"{directory} is not a directory, so no checkpoints are kept there")
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise CheckpointError(f"Others can write to {directory}, so the checkpoints there are not used")


def _claim(directory: Path, workspace: Path) -> None:
    """Record the workspace of a new store; a store belongs to one workspace for good."""
    note = directory / WORKSPACE_NAME
    try:
        owner = note.read_bytes()
    except FileNotFoundError:
        note.write_bytes(os.fsencode(workspace))
        return
    if owner and owner != os.fsencode(workspace):
        raise CheckpointError(f"The checkpoints in {directory} are those of {os.fsdecode(owner)!r}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        _wait_for(descriptor)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    deadline = time.monotonic() + MAX_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise CheckpointError(
                    f"Another Robota has used the checkpoints of this workspace for {MAX_WAIT_S:.0f} seconds"
                ) from None
            time.sleep(PAUSE_S)
        except OSError as error:
            if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                return
            raise
        else:
            return


class ListedCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint and when it was made, in seconds."""

    made_s: int
    id: str


class CheckpointList:
    """The checkpoints of one store, oldest first, each with the time it was made."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LIST_NAME

    def read(self) -> list[ListedCheckpoint]:
        """All checkpoints; lines that a full disk cut off are skipped."""
        try:
            lines = self._path.read_text().splitlines()
        except FileNotFoundError:
            return []
        words = (line.split(" ") for line in lines)
        return [ListedCheckpoint(int(pair[0]), pair[1]) for pair in words if len(pair) == 2 and pair[0].isdecimal()]

    def add(self, checkpoint: str, now_s: int) -> None:
        """Add one at the end."""
        with self._path.open("a") as listed:
            listed.write(f"{now_s} {checkpoint}\n")

    def write(self, checkpoints: Iterable[ListedCheckpoint]) -> None:
        """Keep only these."""
        draft = self._path.with_name(f"{LIST_NAME}.new")
        draft.write_text("".join(f"{each.made_s} {each.id}\n" for each in checkpoints))
        draft.rename(self._path)
