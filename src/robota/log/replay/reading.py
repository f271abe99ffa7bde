"""Reads a session from its log, starting at a valid snapshot if there is one."""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.head import ChainHead
from robota.log.chain.reader import LineSpan, Loaded, scan
from robota.log.chain.writer import GROWTH_BYTES
from robota.log.errors import LogUnreadable
from robota.log.kinds.conversation import CondenseRecord, CutRecord, TruncateRecord
from robota.log.record import PayloadError, Record, outlives_rewind, payload_of
from robota.log.replay.branches import Jump, RecordSpan, branch_spans, jump_of
from robota.log.replay.context import reduction_id
from robota.log.replay.landmarks import Undoing, landmarks_of
from robota.log.replay.session import ReplayedSession, SessionFold
from robota.log.replay.snapshot import ROWS_KEPT, Segment, SessionSnapshot, bound_rows, fold_from, let_go, tasks_in
from robota.log.replay.snapshot_file import is_unchanged, read_snapshot, segment_of, write_snapshot
from robota.log.replay.task import BaseOutgrown

LET_GO_AFTER: Final = 8 * 1024 * 1024
REDUCTIONS: Final = frozenset({"condense", "truncate", "cut"})


class LogReading:
    """Builds the same result as `replay`, but keeps no records in memory, and only the newest rows of long tasks.

    Rewinds and undone reductions change which earlier records apply, so they are searched for first.
    """

    def __init__(
        self,
        snapshot_file: Path | None = None,
        noted: ChainHead | None = None,
        *,
        rows_kept: int = ROWS_KEPT,
        growth: int = GROWTH_BYTES,
        let_go_after: int = LET_GO_AFTER,
        progress: Callable[[int], object] = lambda _: None,
    ) -> None:
        """`noted` is the record that the log must contain if it was written on this machine.

        A new snapshot is written when more than `growth` bytes were read. After every `let_go_after` bytes, unneeded
        data is freed, and `progress` is called with the offset.
        """
        self._file = snapshot_file
        self._noted = noted
        self._rows_kept = rows_kept
        self._growth = growth
        self._let_go_after = let_go_after
        self._progress = progress
        self._begin(None)

    def read(self, log: Path) -> Loaded:
        """Read the log, and write a snapshot if much was read. Raises `LogUnreadable`."""
        snapshot = read_snapshot(self._file, log) if self._file is not None else None
        loaded = self._read_somehow(log, snapshot)
        if loaded.good_length - self._read_from >= self._growth:
            self._write(log, loaded)
        return loaded

    def takes_more_than(self, most_bytes: int, log: Path) -> bool:
        """Whether the snapshot, or the log after it, is larger than `most_bytes`. Raises OSError.

        A snapshot is large if the conversation was never condensed, because it contains everything that the model sees.
        """
        if self._file is None or not self._file.exists():
            return log.stat().st_size > most_bytes
        if self._file.stat().st_size > most_bytes:
            return True
        snapshot = read_snapshot(self._file, log)
        return log.stat().st_size - (0 if snapshot is None else snapshot.read.good_length) > most_bytes

    def refresh(self, log: Path) -> bool:
        """Update the snapshot of a log that is being written. Never reads the whole log a second time.

        Returns False if that is impossible; then the snapshot is removed, and the next reader creates one.
        """
        assert self._file is not None
        try:
            return self._write(log, self._read(log, read_snapshot(self._file, log)))
        except (BaseOutgrown, LogUnreadable):
            with suppress(OSError):
                self._file.unlink(missing_ok=True)
            return False

    def session(self) -> ReplayedSession:
        """The session that was read, closed because no process is running it."""
        bound_rows(self._fold, self._branch, self._rows_kept)
        return self._fold.session()

    @property
    def is_own(self) -> bool:
        """Whether the log matches this machine's note about it, if there is one."""
        return self._noted is None or self._confirmed == self._noted

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
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)
        return False

    def _begin(self, snapshot: SessionSnapshot | None) -> None:
        self._fold = SessionFold() if snapshot is None else fold_from(snapshot)
        self._read_from = 0 if snapshot is None else snapshot.read.good_length
        self._segments: tuple[Segment, ...] = () if snapshot is None else snapshot.segments
        self._jumps: tuple[Jump, ...] = () if snapshot is None else snapshot.jumps
        self._confirmed = None if snapshot is None else snapshot.noted
        self._branch: tuple[RecordSpan, ...] = ()

    def _read(self, log: Path, snapshot: SessionSnapshot | None, *, keeps_all: bool = False) -> Loaded:
        self._begin(snapshot)
        self._confirm(snapshot)
        landmarks = landmarks_of(log, self._read_from)
        if snapshot is not None and landmarks.jumps:
            raise BaseOutgrown
        self._jumps += landmarks.jumps
        if self._jumps:
            self._branch = branch_spans(self._jumps)
        filling = _Filling(self._fold, self._branch, landmarks.undoings)
        let_go_after = sys.maxsize if keeps_all else self._let_go_after

        def take(record: Record, span: LineSpan) -> None:
            if self._noted is not None and record.seq == self._noted.seq and record.hash == self._noted.hash:
                self._confirmed = self._noted
            if record.kind == "rewind" and (jump := jump_of(record)) is not None and jump not in self._jumps:
                raise BaseOutgrown  # a rewind is being written right now
            filling.take(record, span)
            if filling.held_bytes >= let_go_after:
                self._progress(span.end)
                filling.let_go(self._rows_kept)

        return scan(log, take, None if snapshot is None else snapshot.read)

    def _read_somehow(self, log: Path, snapshot: SessionSnapshot | None) -> Loaded:
        """Read from the snapshot, or else from the beginning, or else from the beginning with everything in memory."""
        with suppress(BaseOutgrown):
            return self._read(log, snapshot)
        with suppress(BaseOutgrown):
            return self._read(log, None)
        try:
            return self._read(log, None, keeps_all=True)
        except BaseOutgrown as error:
            raise LogUnreadable(f"The session log {log} was changed again and again while it was read.") from error

    def _confirm(self, snapshot: SessionSnapshot | None) -> None:
        """Accept a note that is older than the snapshot if the snapshot confirmed it or ends with its record."""
        noted = self._noted
        if snapshot is not None and not self.is_own and noted is not None and noted.seq <= snapshot.read.last_seq:
            if noted.hash != snapshot.read.head_hash:
                raise BaseOutgrown
            self._confirmed = noted

    def _write(self, log: Path, loaded: Loaded) -> bool:
        if self._file is None or not loaded.is_terminated or not self.is_own:
            return False
        bound_rows(self._fold, self._branch, self._rows_kept)
        fold, tasks = self._fold, tasks_in(self._fold)
        try:
            segment = segment_of(log, self._read_from, loaded.good_length)
        except (OSError, LogUnreadable):
            return False
        snapshot = SessionSnapshot(
            read=_up_to_last_sound(loaded),
            segments=(*self._segments, segment),
            noted=self._confirmed,
            jumps=self._jumps,
            header=fold.header,
            renamed=fold.renamed,
            queue=fold.queue,
            current_task_id=fold.current_task_id,
            tasks=tasks,
            left_tasks=fold.left_tasks | fold.tasks.keys() - {task.task_id for task in tasks},
            problems=tuple(fold.problems),
        )
        return write_snapshot(self._file, log, snapshot)


class _Filling:
    """Adds the records of the branch to a session, without reductions that are undone later."""

    def __init__(self, fold: SessionFold, branch: tuple[RecordSpan, ...], undoings: Sequence[Undoing]) -> None:
        self._fold = fold
        self._branch = branch
        self._undone = {(each.task_id, each.id): each.seq for each in undoings if self._counts(each.seq)}
        self.held_bytes = 0
        self._held_records = 0

    def take(self, record: Record, span: LineSpan) -> None:
        if self._counts(record.seq) or outlives_rewind(record.kind):
            if not (self._undone and record.kind in REDUCTIONS and self._is_undone(record)):
                self._fold.take(record, span)
            self.held_bytes += span.end - span.start
            self._held_records += 1

    def let_go(self, rows_kept: int) -> None:
        """Free unneeded data, unless it is only a small part of what is held."""
        shown = sum(len(task.base.pieces) for task in self._fold.tasks.values() if task.base is not None)
        if self._held_records >= shown:
            let_go(self._fold, self._branch, rows_kept)
            self.held_bytes = self._held_records = 0

    def _counts(self, seq: int) -> bool:
        return not self._branch or any(seq in span for span in self._branch)

    def _is_undone(self, record: Record) -> bool:
        try:
            reduction = payload_of(record)
        except PayloadError:
            return False
        assert isinstance(reduction, CondenseRecord | TruncateRecord | CutRecord)
        return record.seq < self._undone.get((reduction.task_id, reduction_id(reduction)), 0)


def _up_to_last_sound(loaded: Loaded) -> Loaded:
    """The end of the last valid record: damage after it is moved away on writing and must not be in a snapshot."""
    problems = tuple(problem for problem in loaded.problems if problem.line <= loaded.good_line)
    return msgspec.structs.replace(loaded, problems=problems, length=loaded.good_length)
