"""Reads a session from its log, starting at a valid snapshot if there is one."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.head import ChainHead, is_late_header
from robota.log.chain.reader import LineSpan, Loaded, scan
from robota.log.chain.writer import GROWTH_BYTES
from robota.log.errors import LogUnreadable
from robota.log.record import Record, payload_of
from robota.log.replay.branches import LAST_OF_ALL, Timeline, jump_of, timeline_in
from robota.log.replay.context import ContextFold, ContextPayload, EarlierRecordsNeeded
from robota.log.replay.session import MAX_ROWS, SessionFold
from robota.log.replay.snapshot import SNAPSHOTS, Segment, SessionSnapshot, is_unchanged, segment_of

TRIM_AFTER_BYTES: Final = 8 * 1024 * 1024
CONTEXT_KINDS: Final = frozenset({"turn", "result", "condense", "truncate", "cut", "pin"})


class LogReading:
    """Builds the same result as `replay`, but keeps no records in memory, and only the newest rows of long tasks."""

    def __init__(
        self,
        snapshot_file: Path | None = None,
        noted: ChainHead | None = None,
        *,
        max_rows: int = MAX_ROWS,
        growth: int = GROWTH_BYTES,
        trim_after: int = TRIM_AFTER_BYTES,
        progress: Callable[[int], object] = lambda _: None,
    ) -> None:
        """`noted` is the record that the log must contain if it was written on this machine.

        A new snapshot is written when more than `growth` bytes were read. After every `trim_after` bytes, unneeded
        data is freed, and `progress` is called with the offset.
        """
        self._file = snapshot_file
        self._noted = noted
        self._max_rows = max_rows
        self._growth = growth
        self._trim_after = trim_after
        self._progress = progress
        self._begin(None)

    def read(self, log: Path) -> Loaded:
        """Read the log, and write a snapshot if much was read. Raises `LogUnreadable`."""
        loaded = self._read_somehow(log, self._snapshot(log))
        if loaded.good_length - self._read_from >= self._growth:
            self._write(log, loaded)
        return loaded

    def takes_more_than(self, max_bytes: int, log: Path) -> bool:
        """Whether the snapshot, or the log after it, is larger than `max_bytes`. Raises OSError.

        A snapshot is large if the conversation was never condensed, because it contains everything that the model sees.
        """
        if self._file is None or not self._file.exists():
            return log.stat().st_size > max_bytes
        if self._file.stat().st_size > max_bytes:
            return True
        snapshot = self._snapshot(log)
        return log.stat().st_size - (0 if snapshot is None else snapshot.position.offset) > max_bytes

    def refresh(self, log: Path) -> bool:
        """Update the snapshot of a log that is being written. Never reads the whole log a second time.

        Returns False if that is impossible; then the snapshot is removed, and the next reader creates one.
        """
        try:
            return self._write(log, self._read(log, self._snapshot(log)))
        except (EarlierRecordsNeeded, LogUnreadable):
            self._remove_snapshot()
            return False

    def session(self) -> SessionFold:
        """The session that was read, closed because no process is running it."""
        self._session.bound_rows(self._timeline.branch, self._max_rows)
        return self._session.closed()

    @property
    def is_own(self) -> bool:
        """Whether the log matches this machine's note about it, if there is one."""
        return self._noted is None or self._confirmed == self._noted

    @property
    def has_late_header(self) -> bool:
        """Whether a header follows the noted record: a command may have added it, so it does not choose a mode."""
        return self._has_late_header

    @property
    def has_old_part(self) -> bool:
        """Whether a part of the log was skipped, because a snapshot covers it."""
        return bool(self._segments)

    def old_part_is_unchanged(self, log: Path) -> bool:
        """Whether the skipped part of the log is still what the snapshot was made from. This is slow.

        If it has changed, the snapshot is removed, so that the next reader reads the whole log and reports the damage.
        """
        with suppress(OSError, LogUnreadable):
            if is_unchanged(log, self._segments):
                return True
        self._remove_snapshot()
        return False

    def _snapshot(self, log: Path) -> SessionSnapshot | None:
        return None if self._file is None else SNAPSHOTS.read(self._file, log)

    def _remove_snapshot(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)

    def _begin(self, snapshot: SessionSnapshot | None) -> None:
        self._session = SessionFold() if snapshot is None else snapshot.session
        self._read_from = 0 if snapshot is None else snapshot.position.offset
        self._segments: tuple[Segment, ...] = () if snapshot is None else snapshot.segments
        self._confirmed = None if snapshot is None else snapshot.noted
        self._timeline = Timeline()
        self._has_late_header = False  # a snapshot is not made of such a log

    def _read(self, log: Path, snapshot: SessionSnapshot | None, *, keeps_all: bool = False) -> Loaded:
        self._begin(snapshot)
        self._confirm(snapshot)
        earlier = () if snapshot is None else snapshot.jumps
        timeline = self._timeline = timeline_in(log, self._read_from, earlier)
        if snapshot is not None and timeline.jumps != earlier:
            raise EarlierRecordsNeeded
        trim_after = sys.maxsize if keeps_all else self._trim_after
        held_bytes = 0

        def take(record: Record, span: LineSpan) -> None:
            nonlocal held_bytes
            if self._noted is not None and record.seq == self._noted.seq and record.hash == self._noted.hash:
                self._confirmed = self._noted
            self._has_late_header |= is_late_header(record, self._noted)
            if record.kind == "rewind" and (jump := jump_of(record)) is not None and jump not in timeline.jumps:
                raise EarlierRecordsNeeded  # a rewind is being written right now
            if timeline.applies(record):
                self._session.take(record, span)
                held_bytes += span.end - span.start
            if held_bytes >= trim_after:
                held_bytes = 0
                self._progress(span.end)
                self._trim()

        return scan(log, take, None if snapshot is None else snapshot.read)

    def _trim(self) -> None:
        """Free everything that a snapshot would not contain."""
        self._session.bound_rows(self._timeline.branch, self._max_rows)
        self._session = self._session.without_left_tasks()

    def _read_somehow(self, log: Path, snapshot: SessionSnapshot | None) -> Loaded:
        """Read from the snapshot, or else from the beginning, or else from the beginning with everything in memory."""
        with suppress(EarlierRecordsNeeded):
            return self._read(log, snapshot)
        with suppress(EarlierRecordsNeeded):
            return self._read(log, None)
        try:
            return self._read(log, None, keeps_all=True)
        except EarlierRecordsNeeded as error:
            raise LogUnreadable(f"The session log {log} was changed again and again while it was read.") from error

    def _confirm(self, snapshot: SessionSnapshot | None) -> None:
        """Accept a note that is older than the snapshot if the snapshot confirmed it or ends with its record."""
        noted = self._noted
        if snapshot is not None and not self.is_own and noted is not None and noted.seq <= snapshot.read.last_seq:
            if noted.hash != snapshot.read.head_hash:
                raise EarlierRecordsNeeded
            self._confirmed = noted

    def _write(self, log: Path, loaded: Loaded) -> bool:
        if self._file is None or not loaded.is_terminated or not self.is_own or self._has_late_header:
            return False
        self._session.bound_rows(self._timeline.branch, self._max_rows)
        try:
            segment = segment_of(log, self._read_from, loaded.good_length)
        except (OSError, LogUnreadable):
            return False
        snapshot = SessionSnapshot(
            read=_up_to_last_sound(loaded),
            segments=(*self._segments, segment),
            noted=self._confirmed,
            jumps=self._timeline.jumps,
            session=self._session.without_left_tasks(),
        )
        return SNAPSHOTS.write(self._file, log, snapshot)


def _up_to_last_sound(loaded: Loaded) -> Loaded:
    """The end of the last valid record: damage after it is moved away on writing and must not be in a snapshot."""
    problems = tuple(problem for problem in loaded.problems if problem.line <= loaded.good_line)
    return msgspec.structs.replace(loaded, problems=problems, length=loaded.good_length)


def context_without(log: Path, task_id: str, reduction_id: str) -> ContextFold:
    """What the model would get of a task if this reduction were undone. Raises `LogUnreadable`, OSError.

    It is not in memory, so it is read from the log; nothing else is held.
    """
    timeline, context = timeline_in(log), ContextFold()
    undone = {**timeline.undone, (task_id, reduction_id): LAST_OF_ALL}
    timeline = msgspec.structs.replace(timeline, undone=undone)
    for grown in records_since(log, LogPosition()):
        if grown.record.kind in CONTEXT_KINDS and timeline.applies(grown.record):
            payload = payload_of(grown.record)
            if isinstance(payload, ContextPayload) and payload.task_id == task_id:
                context.take(payload)
    return context
