"""A fork: a new session whose log begins with a copy of another's, up to the end of a turn."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.reader import LOG_NAME, load
from robota.log.chain.writer import ARTIFACTS_NAME
from robota.log.errors import SessionNotFound
from robota.log.kinds.session import NameRecord, OriginRecord, SessionHeader
from robota.log.record import PayloadError, Record, payload_of
from robota.log.replay.branches import branch_of, jumps_in
from robota.log.replay.rewind_points import rewind_history
from robota.log.transfer.draft import DraftSession

# Numbers of records mean nothing in a copy that leaves some out, and what was gone back from is left out.
NOT_COPIED: Final = frozenset({"rewind", "rewindStart"})


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """What is copied: the records of one branch, and the turn they end with, if not with the last."""

    records: tuple[Record, ...]
    turn: int | None
    head: str


def fork_of(directory: Path, turn: int | None) -> Fork:
    """The records up to the end of a turn, counted as `robota rewind list` does, or of the present conversation."""
    records = load(directory / LOG_NAME).records
    end = _end_of_turn(records, turn) if turn is not None else None
    copied = tuple(record for record in branch_of(records, end) if record.kind not in NOT_COPIED)
    return Fork(records=copied, turn=turn, head=copied[-1].hash if copied else "")


def write_fork(draft: DraftSession, directory: Path, fork: Fork, new_id: str, name: str | None, now_ms: int) -> None:
    """Put the copy into a draft, and say at its end where it came from.

    If the original was not written on this machine, the copy does not say that it worked elsewhere: that is where
    `robota rewind` restores files.
    """
    cwd = None if draft.is_own(directory) else str(draft.root)
    for record in fork.records:
        draft.add(record.kind, _with_id(record, new_id, cwd), record.ts)
    header = next((header for record in fork.records if (header := _header(record)) is not None), None)
    origin = OriginRecord(
        source="fork",
        session_id=directory.name,
        cwd=header.cwd if header is not None else "",
        head=fork.head,
        at_ms=now_ms,
        turn=fork.turn,
    )
    draft.append(origin, now_ms)
    if name is not None:
        draft.append(NameRecord(name=name))
    draft.take_artifacts(directory / ARTIFACTS_NAME)


def _end_of_turn(records: Sequence[Record], turn: int) -> int:
    """The last record of a turn: before the next prompt on its branch, or before somebody went back."""
    points = {point.number: point for point in rewind_history(records).points}
    if turn not in points:
        raise SessionNotFound(f"There is no turn {turn} in this session; it has {len(points)}. Nothing was changed.")
    point = points[turn]
    ends = [jump.seq - 1 for jump in jumps_in(records) if jump.seq > point.seq][:1]
    following = points.get(turn + 1)
    if following is not None and following.to >= point.seq:
        ends.append(following.to)
    return min(ends, default=records[-1].seq)


def _with_id(record: Record, new_id: str, cwd: str | None) -> bytes:
    header = _header(record)
    if header is None:
        return bytes(record.payload)
    return msgspec.structs.replace(header, id=new_id, cwd=cwd or header.cwd).to_json()


def _header(record: Record) -> SessionHeader | None:
    if record.kind != "session":
        return None
    try:
        payload = payload_of(record)
    except PayloadError:
        return None
    return payload if isinstance(payload, SessionHeader) else None
