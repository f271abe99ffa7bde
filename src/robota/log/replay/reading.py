"""Reads a log into a session, from a snapshot on where there is one that fits, else from the beginning."""

from contextlib import suppress
from pathlib import Path

import msgspec

from robota.log.chain.head import ChainHead
from robota.log.chain.reader import LineSpan, Loaded, scan
from robota.log.chain.writer import GROWTH_BYTES
from robota.log.errors import LogUnreadable
from robota.log.record import Record, outlives_rewind
from robota.log.replay.branches import Jump, RecordSpan, branch_spans, jump_of
from robota.log.replay.session import ReplayedSession, SessionFold
from robota.log.replay.snapshot import ROWS_KEPT, Segment, SessionSnapshot, bound_rows, fold_from, tasks_in
from robota.log.replay.snapshot_file import is_unchanged, read_snapshot, segment_of, write_snapshot
from robota.log.replay.task import BaseOutgrown


class LogReading:
    """Makes of a log what `replay` makes of its records, but keeps none of them, and of long tasks the newest rows.

    Which records count is known only at the end if somebody went back. Then the log is read a second time.
    """

    def __init__(
        self,
        snapshot_file: Path | None = None,
        noted: ChainHead | None = None,
        *,
        rows_kept: int = ROWS_KEPT,
        growth: int = GROWTH_BYTES,
    ) -> None:
        """`noted` is the record that the log must hold if it is the one that was written on this machine.

        A new snapshot is written when reading took more than `growth` bytes.
        """
        self._file = snapshot_file
        self._noted = noted
        self._rows_kept = rows_kept
        self._growth = growth
        self._begin(None)

    def read(self, log: Path) -> Loaded:
        """Read the log, and write a snapshot if that was much. Raises `LogUnreadable`."""
        snapshot = read_snapshot(self._file, log) if self._file is not None else None
        try:
            loaded = self._read(log, snapshot)
        except BaseOutgrown:
            loaded = self._read(log, None)
        if loaded.good_length - self._read_from >= self._growth:
            self._write(log, loaded)
        return loaded

    def refresh(self, log: Path) -> bool:
        """Bring the snapshot of a log that is being written up to date. Never reads the whole log a second time.

        False if that cannot be; then there is none, and the next one who reads the log makes one.
        """
        assert self._file is not None
        try:
            return self._write(log, self._read(log, read_snapshot(self._file, log)))
        except (BaseOutgrown, LogUnreadable):
            with suppress(OSError):
                self._file.unlink(missing_ok=True)
            return False

    def session(self) -> ReplayedSession:
        """The session after what was read, if nobody runs it now."""
        bound_rows(self._fold, self._branch, self._rows_kept)
        return self._fold.session()

    @property
    def is_own(self) -> bool:
        """Whether the log is the one that was written on this machine, if that was noted."""
        return self._noted is None or self._confirmed == self._noted

    @property
    def has_old_part(self) -> bool:
        """Whether a part of the log was not read now, because a snapshot tells what it says."""
        return bool(self._segments)

    def old_part_is_unchanged(self, log: Path) -> bool:
        """Whether the part of the log that was not read now still is as it was when it was read. Takes its time.

        A log that was changed is to be read as a whole the next time, which names the damage.
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
        self._jumps: list[Jump] = [] if snapshot is None else list(snapshot.jumps)
        self._confirmed = None if snapshot is None else snapshot.noted
        self._branch: tuple[RecordSpan, ...] = ()

    def _read(self, log: Path, snapshot: SessionSnapshot | None) -> Loaded:
        self._begin(snapshot)
        noted, known_jumps = self._noted, len(self._jumps)
        if snapshot is not None and not self.is_own and noted is not None and noted.seq <= snapshot.read.last_seq:
            if noted.hash != snapshot.read.head_hash:
                raise BaseOutgrown
            self._confirmed = noted

        def take(record: Record, span: LineSpan) -> None:
            if noted is not None and record.seq == noted.seq and record.hash == noted.hash:
                self._confirmed = noted
            jump = jump_of(record)
            if jump is not None:
                self._jumps.append(jump)
            if len(self._jumps) == known_jumps:
                self._fold.take(record, span)
            elif snapshot is not None:
                raise BaseOutgrown

        loaded = scan(log, take, None if snapshot is None else snapshot.read)
        if self._jumps:
            self._branch = branch_spans(self._jumps, loaded.last_seq)
        if len(self._jumps) > known_jumps:
            self._read_branch(log)
        return loaded

    def _read_branch(self, log: Path) -> None:
        # Let go of the other branch before this one is read.
        fold, branch = SessionFold(), self._branch
        self._fold = fold

        def take_of_branch(record: Record, span: LineSpan) -> None:
            if outlives_rewind(record.kind) or any(record.seq in part for part in branch):
                fold.take(record, span)

        scan(log, take_of_branch)

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
            jumps=tuple(self._jumps),
            header=fold.header,
            renamed=fold.renamed,
            queue=fold.queue,
            current_task_id=fold.current_task_id,
            tasks=tasks,
            left_tasks=fold.left_tasks | fold.tasks.keys() - {task.task_id for task in tasks},
            problems=tuple(fold.problems),
        )
        return write_snapshot(self._file, log, snapshot)


def _up_to_last_sound(loaded: Loaded) -> Loaded:
    """Damage at the end is put aside before the log goes on, so it is no part of what a snapshot stands for."""
    problems = tuple(problem for problem in loaded.problems if problem.line <= loaded.good_line)
    return msgspec.structs.replace(loaded, problems=problems, length=loaded.good_length)
