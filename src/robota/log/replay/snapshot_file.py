"""Snapshots on the disk: a line that says what they are, then JSON. One that was changed does not count."""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from robota.log.artifacts import write_whole
from robota.log.chain.growth import LogPosition, continues
from robota.log.chain.reader import open_log
from robota.log.errors import LogUnreadable
from robota.log.replay.snapshot import Segment, SessionSnapshot
from robota.protocol.codec import ProtocolError
from robota.version import VERSION

FORMAT: Final = f"2 {VERSION}"
PIECE_BYTES: Final = 256 * 1024


class SnapshotLabel(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: which format it is, the digest of the rest, and the directory of the session."""

    format: str
    digest: str
    directory: str = ""


def read_snapshot(file: Path, log: Path) -> SessionSnapshot | None:
    """The snapshot, if it is whole, of this version, and the log still holds the record that it was made after."""
    try:
        first, _, body = file.read_bytes().partition(b"\n")
        label = msgspec.json.decode(first, type=SnapshotLabel)
        if label.format != FORMAT or label.digest != sha256(body).hexdigest():
            return None
        snapshot = msgspec.json.decode(body, type=SessionSnapshot)
        position = LogPosition(snapshot.read.good_length, snapshot.read.head_hash)
        return snapshot if continues(log, position) else None
    except (OSError, LogUnreadable, msgspec.DecodeError, UnicodeDecodeError, ProtocolError):
        return None


def write_snapshot(file: Path, log: Path, snapshot: SessionSnapshot) -> bool:
    """Whether it could be written. If not, an older one stays as it was."""
    body = msgspec.json.encode(snapshot)
    directory = str(log.parent.resolve()).encode("utf-8", "replace").decode()
    label = SnapshotLabel(format=FORMAT, digest=sha256(body).hexdigest(), directory=directory)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(file, msgspec.json.encode(label) + b"\n" + body)
    except OSError:
        return False
    return True


def drop_stale_snapshots(directory: Path) -> None:
    """Remove the snapshots of sessions that are gone, with what of their conversation is in them."""
    for file in directory.glob("*"):
        with suppress(OSError, msgspec.DecodeError):
            with file.open("rb") as stream:
                label = msgspec.json.decode(stream.readline(), type=SnapshotLabel)
            if not Path(label.directory).exists():
                file.unlink()


def segment_of(log: Path, start: int, end: int) -> Segment:
    """The bytes of the log between these offsets. Raises `LogUnreadable`, OSError."""
    digest = sha256()
    with open_log(log) as stream:
        stream.seek(start)
        while start < end and (piece := stream.read(min(PIECE_BYTES, end - start))):
            digest.update(piece)
            start += len(piece)
    return Segment(end, digest.hexdigest())


def is_unchanged(log: Path, segments: tuple[Segment, ...]) -> bool:
    """Whether the log still is, byte for byte, what the segments tell of it."""
    start = 0
    for segment in segments:
        if segment_of(log, start, segment.end) != segment:
            return False
        start = segment.end
    return True
