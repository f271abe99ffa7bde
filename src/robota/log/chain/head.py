"""Notes the newest record of a log outside the workspace, where rewriting the chain cannot change it."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import make_private_directory
from robota.log.record import Record

HEADS: Final = "heads"
HEADER_KIND: Final = "session"


class ChainHead(msgspec.Struct, frozen=True):
    """The number and hash of a record that was on disk, and its session directory."""

    seq: int
    hash: str
    directory: str = ""


def head_path(user_directory: Path, session_directory: Path) -> Path:
    """The path of the note about a session's log. It includes the session directory, because ids may be reused."""
    return user_directory / HEADS / note_name(Path(os.path.realpath(session_directory)))


def note_name(real_directory: Path) -> str:
    """The name of the note about the session in this directory, a path without symlinks."""
    return f"{real_directory.name}-{sha256(os.fsencode(real_directory)).hexdigest()[:12]}"


def note_names(user_directory: Path) -> frozenset[str]:
    """The names of all notes on this machine."""
    try:
        return frozenset(note.name for note in os.scandir(user_directory / HEADS))
    except OSError:
        return frozenset()


def note_head(path: Path, head: ChainHead) -> None:
    """Write the note. If that fails, only the protection by the note is lost."""
    try:
        descriptor = _opened(path)
    except OSError:
        return
    try:
        data = msgspec.json.encode(head) + b"\n"
        os.pwrite(descriptor, data, 0)
        os.ftruncate(descriptor, len(data))
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    """Open the note for writing. It usually exists, because it is written in every turn."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        make_private_directory(path.parent)
        return os.open(path, flags, 0o600)


def noted_head(path: Path) -> ChainHead | None:
    """The noted head, or None."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ChainHead)
    except (OSError, msgspec.DecodeError):
        return None


def is_late_header(record: Record, noted: ChainHead | None) -> bool:
    """Whether this is a header of a session that the note does not cover.

    Commands behind Landlock can add records to a log, properly chained. What a header says about permissions counts
    only if the note confirms it.
    """
    return noted is not None and record.kind == HEADER_KIND and record.seq > noted.seq


def noted_directories(user_directory: Path) -> dict[str, str]:
    """The session directories of this machine by the name of their note; empty in notes of older versions."""
    try:
        notes = list(os.scandir(user_directory / HEADS))
    except OSError:
        return {}
    heads = ((note.name, noted_head(Path(note.path))) for note in notes)
    return {name: head.directory for name, head in heads if head is not None}
