"""Copies of git data that were not written back, by a killed Robota or on a full disk: that is made up for later.

Otherwise a stash would be lost, which is the only place of what it has removed from the files. Copies are kept in the
user's directory, where commands cannot write; commands change only what is mounted from there.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import make_private_directory, read_file
from robota.config.sealed_state import ForeignState, seal, unseal
from robota.text.visible import printable_name
from robota.workspace.files.path_status import Presence, presence_of
from robota.workspace.files.remove_tree import remove_tree
from robota.workspace.git.git_directories import GitDirectories
from robota.workspace.git.write_back import CopiedDirectory, write_back

COPIES: Final = "git-copies"
STATE: Final = "state"
TRIES: Final = 5
# Copies of other repositories wait for their next session, but not forever.
MAX_AGE_S: Final = 30 * 86_400
NOT_YET: Final = (
    "The command's changes to the git data are not in the repository yet: {}. They are kept in {}, and Robota writes "
    "them back before the next command that changes git's data."
)
FOREIGN: Final = (
    "The state of an interrupted git command in {} was refused: {}. Nothing of it was written to the repository. "
    "If you do not know where it comes from, delete that directory."
)


class CopyState(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed to write a copy back. `copied` is for the working tree, then for the repository."""

    directories: GitDirectories
    copied: tuple[CopiedDirectory, ...]

    def take_over(self) -> tuple[str, ...]:
        """Write the copy back; returns a sentence for each thing that was not. After an `OSError`, try again later."""
        return write_back(self.directories.top, own=self.copied[0], common=self.copied[-1])


def not_written_yet(copy: Path, error: OSError) -> str:
    """The sentence about a copy that waits for another attempt."""
    words = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
    return NOT_YET.format(printable_name(words), printable_name(str(copy)))


def new_copy_directory(user_directory: Path) -> tuple[Path, int]:
    """A new private directory for a copy, and a descriptor that marks it as in use while it is open."""
    make_private_directory(user_directory / COPIES)
    for _ in range(TRIES):
        copy = _copies(user_directory) / os.urandom(8).hex()
        copy.mkdir(mode=0o700)
        # Until it is locked, a session that starts just now may take it for an abandoned one.
        with suppress(FileNotFoundError):
            lock = _lock(copy)
            if lock is not None and presence_of(copy) is Presence.PRESENT:
                return copy, lock
    raise OSError(f"no directory could be locked in {user_directory / COPIES}")


def write_state(copy: Path, user_directory: Path, state: CopyState) -> None:
    """Write the state next to the copy that it describes."""
    data = msgspec.json.encode(state, enc_hook=str)
    (copy / STATE).write_bytes(seal(user_directory, _purpose(copy), data))


def take_over_abandoned(directories: GitDirectories, user_directory: Path) -> tuple[str, ...]:
    """Write back and remove the copies of this repository that no process holds any more.

    Returns a sentence for each thing that was not written back.
    """
    messages: list[str] = []
    with suppress(OSError):
        for copy in sorted(_copies(user_directory).iterdir()):
            with suppress(OSError):
                messages += _take_over(copy, directories, user_directory)
    return tuple(messages)


def _copies(user_directory: Path) -> Path:
    return Path(os.path.realpath(user_directory)) / COPIES


def _take_over(copy: Path, directories: GitDirectories, user_directory: Path) -> tuple[str, ...]:
    lock = _lock(copy)
    if lock is None:
        return ()
    try:
        try:
            sealed = read_file(copy / STATE, follow=False)
        except FileNotFoundError:
            remove_tree(copy)  # killed before the command was started
            return ()
        try:
            state = _read_state(sealed, copy, user_directory)
        except (ForeignState, msgspec.DecodeError) as problem:
            return (FOREIGN.format(copy, problem),)
        is_of_this_repository = state.directories == directories
        try:
            messages = state.take_over() if is_of_this_repository else ()
        except OSError as error:
            return (not_written_yet(copy, error),)
        if is_of_this_repository or time.time() - (copy / STATE).stat().st_mtime > MAX_AGE_S:
            remove_tree(copy)
        return messages
    finally:
        os.close(lock)


def _read_state(sealed: bytes, copy: Path, user_directory: Path) -> CopyState:
    data = unseal(user_directory, _purpose(copy), sealed)
    state = msgspec.json.decode(data, type=CopyState, dec_hook=lambda kind, value: Path(str(value)))
    directory_pairs = {(each.real, each.copy.parent) for each in state.copied}
    if not state.copied or directory_pairs != {
        (real, copy) for real in (state.directories.own, state.directories.common)
    }:
        raise ForeignState("it is about other directories")
    return state


def _purpose(copy: Path) -> str:
    """The state belongs to this directory: it is not valid under another name or in a copy."""
    status = copy.lstat()
    return f"git copy {copy.name} {status.st_dev} {status.st_ino}"


def _lock(copy: Path) -> int | None:
    """A descriptor that marks the copy as in use while it is open; None if another process has it."""
    descriptor = os.open(copy, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
