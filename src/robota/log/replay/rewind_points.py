"""The points that a session can be rewound to, and the rewinds that can be undone or redone."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.growth import LogPosition, records_since
from robota.log.derived_file import DerivedFile
from robota.log.kinds.calls import CheckpointRecord
from robota.log.kinds.rewinds import RefMovesRecord, RewindRecord, RewindStartRecord, RewoundFiles
from robota.log.kinds.row_glance import GlancedRow, glanced_row
from robota.log.kinds.session import TaskRecord
from robota.log.record import Payload, Record, outlives_rewind, payload_of
from robota.log.replay.branches import Jump, RecordSpan, branch_spans, jump_of
from robota.protocol.rewind import RefMove

# The cached history is rewritten when the log has grown by this many bytes.
GROWTH_BYTES: Final = 2 * 1024 * 1024
PROGRESS_BYTES: Final = 1024 * 1024
READ_KINDS: Final = frozenset({"task", "checkpoint", "rewindStart", "rewind", "refMoves"})
# Kinds of records that are written with a new prompt.
BEFORE_PROMPT_KINDS: Final = frozenset({"answer", "queue"})


class CheckpointedCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call that could change something, and the checkpoint before it.

    `seq` is the record of the checkpoint, `to` the last one before the request for the reply with the call.
    """

    id: str
    tool: str
    checkpoint: str
    seq: int
    to: int


class RewindPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of the user. Numbers count all prompts ever given, so they never change.

    `to` is the last record of the conversation before it. `is_live` is false on an abandoned branch. `before` is the
    workspace at the time; None if nothing was changed since. `after` is the workspace afterwards, if known.
    `not_captured` is the number of paths missing from its `newest_checkpoint`.
    """

    number: int
    prompt: str
    task_id: str
    seq: int
    to: int
    is_live: bool = True
    calls: tuple[CheckpointedCall, ...] = ()
    before: str | None = None
    after: str | None = None
    newest_checkpoint: str | None = None
    not_captured: int = 0


class RewindStep(msgspec.Struct, frozen=True, kw_only=True):
    """A rewind and how to undo it. `to` is absent if the conversation was not rewound."""

    rewind_id: str
    to: int | None = None
    files: RewoundFiles | None = None
    refs: tuple[RefMove, ...] = ()


class RewindHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The rewind points of a session, and what can be undone and redone, newest last.

    `cut_off` is a restore that was interrupted and was the last thing to happen. `told` are the spans of record numbers
    that belong to the conversation, `jumps` the rewinds in it. `ref_moves` are what commands and rewinds moved in git,
    with their record numbers.
    """

    points: tuple[RewindPoint, ...] = ()
    undo: tuple[RewindStep, ...] = ()
    redo: tuple[RewindStep, ...] = ()
    cut_off: RewindStartRecord | None = None
    jumps: tuple[Jump, ...] = ()
    told: Sequence[tuple[int, int]] = ()
    ref_moves: Sequence[tuple[int, tuple[RefMove, ...]]] = ()
    last_seq: int = 0

    def refs_moved_since(self, seq: int) -> tuple[RefMove, ...]:
        """The changes of git names after record `seq`, in order."""
        return tuple(move for number, moves in self.ref_moves if number > seq for move in moves)

    def live_at(self, seq: int) -> frozenset[int]:
        """The numbers of the prompts in the conversation after record `seq`."""
        spans = self._spans_at(seq)
        return frozenset(point.number for point in self.points if any(point.seq in span for span in spans))

    def last_told(self, seq: int) -> int:
        """The last record of the conversation after record `seq` that a rewind affects; 0 if there is none."""
        for span in reversed(self._spans_at(seq)):
            place = bisect_right(self.told, span.last, key=lambda run: run[0])
            last = min(self.told[place - 1][1], span.last) if place else 0
            if last >= span.first:
                return last
        return 0

    def _spans_at(self, seq: int) -> tuple[RecordSpan, ...]:
        return branch_spans([jump for jump in self.jumps if jump.seq <= seq], seq)


def rewind_history(records: Iterable[Record]) -> RewindHistory:
    """The rewind history of a whole log, including abandoned branches. No records are held in memory."""
    fold = RewindFold()
    for record in records:
        fold.take(record)
    return fold.history()


class RewindFold(msgspec.Struct, kw_only=True):
    """The state after the records so far. It is stored as JSON, so that only new records have to be read.

    `calls` are those of each point. `file_states` are all checkpoints with their record numbers; between two of them no
    change is known.
    """

    points: list[RewindPoint] = []
    calls: list[list[CheckpointedCall]] = []
    file_states: list[tuple[int, str]] = []
    undo: list[RewindStep] = []
    redo: list[RewindStep] = []
    started: RewindStartRecord | None = None
    jumps: list[Jump] = []
    told: list[tuple[int, int]] = []
    ref_moves: list[tuple[int, tuple[RefMove, ...]]] = []
    last_seq: int = 0
    subtasks: set[str] = set()
    begun: set[str] = set()
    prompt_rows: set[int] = set()
    newest_request: int = 0
    before_prompt: int = 0
    before_request: int = 0

    def take(self, record: Record) -> None:
        """Add the next record. Unreadable ones are skipped."""
        seq = self.last_seq = record.seq
        if not outlives_rewind(record.kind):
            self._add_told(seq)
        if (jump := jump_of(record)) is not None:
            self.jumps.append(jump)
        if record.kind == "message":
            row = glanced_row(record)
            leads_to_prompt = row is None or self._take_row(seq, row)
        elif record.kind in READ_KINDS:
            leads_to_prompt = self._take_payload(seq, payload_of(record))
        else:
            leads_to_prompt = record.kind in BEFORE_PROMPT_KINDS
        if not leads_to_prompt:
            self.before_prompt = seq

    def history(self) -> RewindHistory:
        """The present rewind points, and what can be undone and redone."""
        spans = branch_spans(self.jumps, self.last_seq)
        points = (
            msgspec.structs.replace(point, is_live=any(point.seq in span for span in spans), calls=tuple(calls))
            for point, calls in zip(self.points, self.calls, strict=True)
        )
        return RewindHistory(
            points=tuple(_with_file_states(points, self.file_states)),
            undo=(*self.undo, *_cut_off_steps(self.started)),
            redo=tuple(self.redo),
            cut_off=self.started,
            jumps=tuple(self.jumps),
            told=tuple(self.told),
            ref_moves=tuple(self.ref_moves),
            last_seq=self.last_seq,
        )

    def _add_told(self, seq: int) -> None:
        if self.told and self.told[-1][1] == seq - 1:
            self.told[-1] = (self.told[-1][0], seq)
        else:
            self.told.append((seq, seq))

    def _take_payload(self, seq: int, payload: Payload | None) -> bool:
        """Add a payload. Returns whether it is written with a prompt, so that a rewind to the prompt undoes it, too."""
        match payload:
            case TaskRecord():
                if payload.parent_task_id is not None:
                    self.subtasks.add(payload.task_id)
                # A task that continues with a prompt is recorded between the answer and its row.
                return payload.task_id not in self.begun or self.before_prompt < seq - 1
            case CheckpointRecord():
                self._checkpoint(seq, payload)
            case RewindStartRecord():
                self.file_states.append((seq, payload.files.before))
                self._close_start()
                self.started = payload
            case RewindRecord():
                self._rewind(seq, payload)
            case RefMovesRecord():
                self.ref_moves.append((seq, payload.moves))
            case _:
                pass
        return False

    def _take_row(self, seq: int, record: GlancedRow) -> bool:
        """Add a row. The first text of a task is the prompt; later texts are the model's, except feedback."""
        row, task = record.message, record.task_id
        if row.say == "api_req_started" and row.ts > self.newest_request:
            self.newest_request, self.before_request = row.ts, seq - 1
        is_first = row.say == "text" and task not in self.begun
        is_prompt = (is_first or row.say == "user_feedback") and task not in self.subtasks
        if is_prompt and row.ts not in self.prompt_rows:
            self.begun.add(task)
            self.prompt_rows.add(row.ts)
            number = len(self.points) + 1
            self.points.append(
                RewindPoint(number=number, prompt=row.text or "", task_id=task, seq=seq, to=self.before_prompt)
            )
            self.calls.append([])
        return row.ask is not None and row.is_answered is True

    def _checkpoint(self, seq: int, record: CheckpointRecord) -> None:
        self.file_states.append((seq, record.checkpoint))
        if not self.points:
            return
        if record.call_id is not None:
            self.calls[-1].append(
                CheckpointedCall(
                    id=record.call_id,
                    tool=record.tool or "",
                    checkpoint=record.checkpoint,
                    seq=seq,
                    to=self.before_request,
                )
            )
        self.points[-1] = msgspec.structs.replace(
            self.points[-1],
            newest_checkpoint=record.checkpoint,
            not_captured=record.not_captured,
            after=record.checkpoint if record.call_id is None else None,
        )

    def _close_start(self) -> None:
        self.undo += _cut_off_steps(self.started)
        self.started = None

    def _rewind(self, seq: int, record: RewindRecord) -> None:
        if self.started is not None and self.started.rewind_id == record.rewind_id:
            self.started = None
        self._close_start()
        if record.refs:
            self.ref_moves.append((seq, record.refs))
        to = None if record.to is None else seq - 1
        step = RewindStep(rewind_id=record.rewind_id, to=to, files=record.files, refs=record.refs)
        match record.action:
            case "restore":
                self.undo.append(step)
                self.redo = [step]  # redoing what was just undone means undoing the restore
            case "undo":
                undone = self.undo.pop() if self.undo else None
                self.redo = [*(each for each in self.redo if each != undone), step]
            case "redo":
                self.redo = self.redo[:-1]
                self.undo.append(step)
            case _:
                pass


class RewindIndex(msgspec.Struct, frozen=True, kw_only=True):
    """The rewind history of the log up to a position."""

    position: LogPosition
    fold: RewindFold


REWIND_INDEX: Final = DerivedFile("rewind 3", RewindIndex)


def read_rewind_history(
    log: Path,
    file: Path | None = None,
    *,
    growth: int = GROWTH_BYTES,
    progress: Callable[[int], object] = lambda _: None,
) -> RewindHistory:
    """The rewind history of a log, including abandoned branches. `file` is where it is cached.

    The cache is rewritten when more than `growth` bytes were read. Raises `LogUnreadable`, OSError.
    """
    index = None if file is None else REWIND_INDEX.read(file, log)
    index = index or RewindIndex(position=LogPosition(), fold=RewindFold())
    fold, position, reported = index.fold, index.position, index.position.offset
    for grown in records_since(log, position):
        fold.take(grown.record)
        position = grown.position
        if position.offset - reported >= PROGRESS_BYTES:
            reported = position.offset
            progress(reported)
    progress(position.offset)
    if file is not None and position.offset - index.position.offset >= growth:
        REWIND_INDEX.write(file, log, RewindIndex(position=position, fold=fold))
    return fold.history()


def _cut_off_steps(start: RewindStartRecord | None) -> list[RewindStep]:
    """An interrupted restore as a step: it may have changed files, so it can be undone."""
    return [] if start is None else [RewindStep(rewind_id=start.rewind_id, files=start.files)]


def _with_file_states(points: Iterable[RewindPoint], states: Sequence[tuple[int, str]]) -> list[RewindPoint]:
    """The points with their file states: the state at a point is that of the next checkpoint."""
    numbers = [seq for seq, _ in states]

    def state_after(seq: int) -> str | None:
        place = bisect_right(numbers, seq)
        return states[place][1] if place < len(states) else None

    return [
        msgspec.structs.replace(
            point,
            before=state_after(point.seq),
            after=point.after or (state_after(point.calls[-1].seq) if point.calls else None),
        )
        for point in points
    ]
