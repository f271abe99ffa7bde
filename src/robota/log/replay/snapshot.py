"""Snapshots: a session at a record of its log, so that only later records have to be read to continue.

A snapshot contains nothing that is not in the log, and its size is bounded: the current task and its parents, their
newest rows, and what the model gets.
"""

from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.growth import LogPosition
from robota.log.chain.head import ChainHead
from robota.log.chain.reader import Loaded, open_log
from robota.log.derived_file import DerivedFile
from robota.log.replay.branches import Jump
from robota.log.replay.session import SessionFold

READ_AT_ONCE: Final = 256 * 1024


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A part of the log, from the end of the segment before it, and the SHA-256 of its bytes."""

    end: int
    digest: str


class SessionSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The session after reading the log up to `read`. `noted` is the note about the log that was confirmed then."""

    read: Loaded
    segments: tuple[Segment, ...]
    noted: ChainHead | None
    jumps: tuple[Jump, ...]
    session: SessionFold

    @property
    def position(self) -> LogPosition:
        """The end of the last record before the snapshot."""
        return LogPosition(self.read.good_length, self.read.head_hash)


SNAPSHOTS: Final = DerivedFile("snapshot 5", SessionSnapshot)


def segment_of(log: Path, start: int, end: int) -> Segment:
    """The segment of the log between these offsets. Raises `LogUnreadable`, OSError."""
    digest = sha256()
    with open_log(log) as stream:
        stream.seek(start)
        while start < end and (piece := stream.read(min(READ_AT_ONCE, end - start))):
            digest.update(piece)
            start += len(piece)
    return Segment(end, digest.hexdigest())


def is_unchanged(log: Path, segments: tuple[Segment, ...]) -> bool:
    """Whether the log still has exactly the bytes of the segments."""
    start = 0
    for segment in segments:
        if segment_of(log, start, segment.end) != segment:
            return False
        start = segment.end
    return True
