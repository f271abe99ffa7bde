"""Where one can go back to in a session, and which ways back can themselves be taken back."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from robota.log.kinds.calls import AnswerRecord, CheckpointRecord
from robota.log.kinds.conversation import MessageRecord
from robota.log.kinds.rewinds import RewindRecord, RewindStartRecord, RewoundFiles
from robota.log.kinds.session import QueueRecord, TaskRecord
from robota.log.record import Payload, PayloadError, Record, outlives_rewind, payload_of, registered_kinds
from robota.log.replay.branches import Jump, RecordSpan, branch_spans, jump_of
from robota.protocol.state import is_request_row

READ_KINDS: Final = frozenset({"task", "message", "checkpoint", "rewindStart", "rewind", "answer", "queue"})


class CheckpointedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that could change something, and the checkpoint before it.

    `seq` is the record that tells of it, `to` the last one before the model was asked for the reply with the call.
    """

    id: str
    tool: str
    checkpoint: str
    seq: int
    to: int


class RewindPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of the person. Numbers count all prompts that were ever given, so they mean the same for ever.

    `to` is the last record of the conversation before it. `is_live` is false on a branch that was left. `before` is the
    workspace when it was given; None if nothing was changed from then on. `after` is what it left, if that is known.
    `not_captured` is how many paths were not in its `newest_checkpoint`.
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
    """A way back that was gone: how to take it back. `to` is absent if the conversation stayed as it was."""

    rewind_id: str
    to: int | None = None
    files: RewoundFiles | None = None


class RewindHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The points of a session, and what can be undone and redone, the newest last.

    `cut_off` is the restore that was the last thing to happen and did not come to its end. `told` are the numbers of
    the records that tell where the conversation stands, `jumps` where somebody went back in it.
    """

    points: tuple[RewindPoint, ...] = ()
    undo: tuple[RewindStep, ...] = ()
    redo: tuple[RewindStep, ...] = ()
    cut_off: RewindStartRecord | None = None
    jumps: tuple[Jump, ...] = ()
    told: Sequence[int] = ()
    last_seq: int = 0

    def live_at(self, seq: int) -> frozenset[int]:
        """The numbers of the prompts that the conversation after the record `seq` is made of."""
        spans = self._spans_at(seq)
        return frozenset(point.number for point in self.points if any(point.seq in span for span in spans))

    def last_told(self, seq: int) -> int:
        """The last record that tells where the conversation after the record `seq` stands; 0 if none does."""
        for span in reversed(self._spans_at(seq)):
            place = bisect_right(self.told, span.last)
            if place and self.told[place - 1] >= span.first:
                return self.told[place - 1]
        return 0

    def _spans_at(self, seq: int) -> tuple[RecordSpan, ...]:
        return branch_spans([jump for jump in self.jumps if jump.seq <= seq], seq)


def rewind_history(records: Iterable[Record]) -> RewindHistory:
    """What the whole log says of going back, also on branches that were left. Of the records none is held."""
    fold = _Fold()
    known = registered_kinds()
    told = array("q")
    jumps: list[Jump] = []
    last_seq = 0
    for record in records:
        last_seq = record.seq
        if not outlives_rewind(record.kind):
            told.append(record.seq)
        if (jump := jump_of(record)) is not None:
            jumps.append(jump)
        if record.kind not in known:
            continue
        try:
            fold.take(record.seq, payload_of(record) if record.kind in READ_KINDS else None)
        except PayloadError:
            continue
    spans = branch_spans(jumps, last_seq)
    points = [
        msgspec.structs.replace(point, is_live=any(point.seq in span for span in spans))
        for point in _with_file_states(fold.points, fold.file_states)
    ]
    cut_off = fold.started
    fold.close_start()
    return RewindHistory(
        points=tuple(points),
        undo=tuple(fold.undo),
        redo=tuple(fold.redo),
        cut_off=cut_off,
        jumps=tuple(jumps),
        told=told,
        last_seq=last_seq,
    )


class _Fold:
    """What is known after the records so far.

    `file_states` are all checkpoints with the number of the record that tells of them: since the one before nothing is
    known to have changed.
    """

    def __init__(self) -> None:
        self.points: list[RewindPoint] = []
        self.file_states: list[tuple[int, str]] = []
        self.undo: list[RewindStep] = []
        self.redo: list[RewindStep] = []
        self.started: RewindStartRecord | None = None
        self._subtasks: set[str] = set()
        self._begun: set[str] = set()
        self._rows: set[int] = set()
        self._before_prompt = 0
        self._before_request = 0

    def take(self, seq: int, payload: Payload | None) -> None:
        match payload:
            case TaskRecord(parent_task_id=str()):
                self._subtasks.add(payload.task_id)
            case MessageRecord():
                self._row(seq, payload)
            case CheckpointRecord():
                self._checkpoint(seq, payload)
            case RewindStartRecord():
                self.file_states.append((seq, payload.files.before))
                self.close_start()
                self.started = payload
            case RewindRecord():
                self._rewind(seq, payload)
            case _:
                pass
        if not self._leads_to_prompt(payload):
            self._before_prompt = seq

    def _leads_to_prompt(self, payload: Payload | None) -> bool:
        """Whether the record is written when a prompt comes, so that going back to before the prompt undoes it, too."""
        match payload:
            case AnswerRecord() | QueueRecord():
                return True
            case TaskRecord():
                return payload.task_id not in self._begun
            case MessageRecord():
                return payload.message.ask is not None and payload.message.is_answered is True
            case _:
                return False

    def _row(self, seq: int, record: MessageRecord) -> None:
        """The first text of a task is what the person asked; later texts are the model's, but for feedback."""
        row, task = record.message, record.task_id
        if row.ts in self._rows:
            return
        self._rows.add(row.ts)
        if is_request_row(row):
            self._before_request = seq - 1
        if task in self._subtasks:
            return
        is_first = row.say == "text" and task not in self._begun
        if is_first or row.say == "user_feedback":
            self._begun.add(task)
            number = len(self.points) + 1
            self.points.append(
                RewindPoint(number=number, prompt=row.text or "", task_id=task, seq=seq, to=self._before_prompt)
            )

    def _checkpoint(self, seq: int, record: CheckpointRecord) -> None:
        self.file_states.append((seq, record.checkpoint))
        if not self.points:
            return
        point = msgspec.structs.replace(
            self.points[-1], newest_checkpoint=record.checkpoint, not_captured=record.not_captured
        )
        if record.call_id is None:
            self.points[-1] = msgspec.structs.replace(point, after=record.checkpoint)
            return
        call = CheckpointedCall(
            id=record.call_id, tool=record.tool or "", checkpoint=record.checkpoint, seq=seq, to=self._before_request
        )
        self.points[-1] = msgspec.structs.replace(point, calls=(*point.calls, call), after=None)

    def close_start(self) -> None:
        """A restore that was cut off may have changed files all the same, so it can be taken back like others."""
        start, self.started = self.started, None
        if start is not None:
            self.undo.append(RewindStep(rewind_id=start.rewind_id, files=start.files))

    def _rewind(self, seq: int, record: RewindRecord) -> None:
        if self.started is not None and self.started.rewind_id == record.rewind_id:
            self.started = None
        self.close_start()
        step = RewindStep(rewind_id=record.rewind_id, to=None if record.to is None else seq - 1, files=record.files)
        match record.action:
            case "restore":
                self.undo.append(step)
                self.redo = [step]  # doing again what was taken back right now is taking the restore back
            case "undo":
                undone = self.undo.pop() if self.undo else None
                self.redo = [*(each for each in self.redo if each is not undone), step]
            case "redo":
                self.redo = self.redo[:-1]
                self.undo.append(step)
            case _:
                pass


def _with_file_states(points: Sequence[RewindPoint], states: Sequence[tuple[int, str]]) -> list[RewindPoint]:
    """The points with the files as they were: each state is the one that the next checkpoint tells of."""
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
