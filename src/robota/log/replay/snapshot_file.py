"""Stores snapshots, and checks that the log they were made from is unchanged."""

from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.growth import LogPosition, continues
from robota.log.chain.reader import open_log
from robota.log.errors import LogUnreadable
from robota.log.replay.derived_file import read_derived, write_derived
from robota.log.replay.snapshot import Segment, SessionSnapshot
from robota.protocol.codec import ProtocolError
from robota.version import VERSION

FORMAT: Final = f"4 {VERSION}"
PIECE_BYTES: Final = 256 * 1024


def read_snapshot(file: Path, log: Path) -> SessionSnapshot | None:
    """The snapshot, if it is intact, has this version, and the log still has the record that it was made after."""
    body = read_derived(file, FORMAT)
    if body is None:
        return None
    try:
        snapshot = msgspec.json.decode(body, type=SessionSnapshot)
        position = LogPosition(snapshot.read.good_length, snapshot.read.head_hash)
        return snapshot if continues(log, position) else None
    except (OSError, LogUnreadable, msgspec.DecodeError, UnicodeDecodeError, ProtocolError):
        return None


def write_snapshot(file: Path, log: Path, snapshot: SessionSnapshot) -> bool:
    """Write a snapshot; returns whether that worked. If not, an older one is unchanged."""
    return write_derived(file, log, FORMAT, msgspec.json.encode(snapshot))


def segment_of(log: Path, start: int, end: int) -> Segment:
    """The segment of the log between these offsets. Raises `LogUnreadable`, OSError."""
    digest = sha256()
    with open_log(log) as stream:
        stream.seek(start)
        while start < end and (piece := stream.read(min(PIECE_BYTES, end - start))):
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
