"""A fork: a new session whose log begins with a copy of another's, up to the end of a turn."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from robota.log.artifacts import ARTIFACTS_NAME
from robota.log.chain.reader import LOG_NAME, scan
from robota.log.errors import SessionNotFound
from robota.log.kinds.session import NameRecord, OriginRecord, SessionHeader
from robota.log.record import Record, outlives_rewind, payload_of
from robota.log.replay.branches import LAST_OF_ALL, RecordSpan, branch_spans
from robota.log.replay.rewind_points import RewindHistory, read_rewind_history
from robota.log.transfer.draft import DraftSession, foreign_header

# These refer to record numbers, which change in a copy that omits abandoned branches.
NOT_COPIED: Final = frozenset({"rewind", "rewindStart"})


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """What to copy: the records of one branch up to `end`, and the turn they end with, unless it is the last."""

    directory: Path
    branch: tuple[RecordSpan, ...]
    end: int = LAST_OF_ALL
    turn: int | None = None

    def each(self, take: Callable[[Record], object]) -> None:
        """Iterate over the records in order. Raises `LogUnreadable`."""
        scan(self.directory / LOG_NAME, lambda record, _: take(record) if self._holds(record) else None)

    def _holds(self, record: Record) -> bool:
        if record.seq > self.end or record.kind in NOT_COPIED:
            return False
        return outlives_rewind(record.kind) or any(record.seq in span for span in self.branch)


def fork_of(directory: Path, turn: int | None, index: Path | None = None) -> Fork:
    """The records up to the end of a turn, counted as `robota rewind list` does, or of the present conversation.

    `index` is where the rewind history of the session is kept. Raises `LogError`.
    """
    history = read_rewind_history(directory / LOG_NAME, index)
    if turn is None:
        return Fork(directory=directory, branch=branch_spans(history.jumps))
    end = _end_of_turn(history, turn)
    return Fork(directory=directory, branch=branch_spans(history.jumps, end), end=end, turn=turn)


def write_fork(draft: DraftSession, fork: Fork, new_id: str, name: str | None, now_ms: int) -> None:
    """Copy the records into a draft, followed by a record of their origin.

    If the original is not exactly what this machine wrote, the copy does not keep its working directory, because that
    is where `robota rewind` restores files, nor any permissions.
    """
    is_own = draft.is_own(fork.directory)
    copy = _Copy(draft, new_id, is_own=is_own)
    fork.each(copy.take)
    origin = OriginRecord(
        source="fork",
        session_id=fork.directory.name,
        made_here=is_own,
        cwd=copy.header.cwd if copy.header is not None else "",
        head=copy.head,
        at_ms=now_ms,
        turn=fork.turn,
    )
    draft.append(origin, now_ms)
    if name is not None or copy.is_named:
        draft.append(NameRecord(name=name))  # the copied name stays with the original only
    draft.take_artifacts(fork.directory / ARTIFACTS_NAME)


class _Copy:
    """Copies records into a draft. `header` is that of the original, `head` the hash of the last copied record.

    `is_named`: a name was copied with them.
    """

    def __init__(self, draft: DraftSession, new_id: str, *, is_own: bool) -> None:
        self._draft = draft
        self._new_id = new_id
        self._is_own = is_own
        self.header: SessionHeader | None = None
        self.head = ""
        self.is_named = False

    def take(self, record: Record) -> None:
        header = _header(record)
        self.header = self.header or header
        self.head = record.hash
        self.is_named |= record.kind == "name" or (header is not None and header.name is not None)
        payload = bytes(record.payload) if header is None else self._with_id(header)
        self._draft.add(record.kind, payload, record.ts)

    def _with_id(self, header: SessionHeader) -> bytes:
        if self._is_own:
            return msgspec.structs.replace(header, id=self._new_id).to_json()
        return foreign_header(header, self._new_id, self._draft.root).to_json()


def _end_of_turn(history: RewindHistory, turn: int) -> int:
    """The last record of a turn: before the next prompt on its branch, or before a rewind."""
    points = {point.number: point for point in history.points}
    if turn not in points:
        raise SessionNotFound(f"There is no turn {turn} in this session; it has {len(points)}. Nothing was changed.")
    point = points[turn]
    ends = [jump.seq - 1 for jump in history.jumps if jump.seq > point.seq][:1]
    following = points.get(turn + 1)
    if following is not None and following.to >= point.seq:
        ends.append(following.to)
    return min(ends, default=LAST_OF_ALL)


def _header(record: Record) -> SessionHeader | None:
    if record.kind != "session":
        return None
    payload = payload_of(record)
    return payload if isinstance(payload, SessionHeader) else None
