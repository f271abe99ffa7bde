"""The newest record of a log, noted outside the workspace: who can rewrite the whole chain there cannot change this."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

HEADS: Final = "heads"


class ChainHead(msgspec.Struct, frozen=True):
    """Number and hash of a record that was on the disk."""

    seq: int
    hash: str


def head_path(user_directory: Path, session_directory: Path) -> Path:
    """Where the head of a session's log is noted; its place counts, because ids may be used twice."""
    place = os.fsencode(os.path.realpath(session_directory))
    return user_directory / HEADS / f"{session_directory.name}-{sha256(place).hexdigest()[:12]}"


def note_head(path: Path, head: ChainHead) -> None:
    """Note the head. Where that is not possible the log is as good as it was before there were such notes."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o600)
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


def noted_head(path: Path) -> ChainHead | None:
    """The head that was noted, if one was."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ChainHead)
    except (OSError, msgspec.DecodeError):
        return None
