"""What a session changed and when: the requests of the person, with the checkpoints before each call."""

from collections.abc import Iterable

import msgspec

from robota.log.kinds.checkpoints import CheckpointRecord
from robota.log.kinds.conversation import MessageRecord
from robota.log.kinds.session import TaskRecord
from robota.log.record import Payload, PayloadError, Record, payload_of


class CheckpointedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that could change something, and the checkpoint before it."""

    id: str
    tool: str
    checkpoint: str


class CheckpointedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the person asked for. `before` is the state before its first change, if it changed anything.

    `after` is the state that it left; None if that was not recorded, because nothing came after it.
    """

    number: int
    prompt: str
    calls: tuple[CheckpointedCall, ...] = ()
    after: str | None = None

    @property
    def before(self) -> str | None:
        """The state before its first change."""
        return self.calls[0].checkpoint if self.calls else None


def checkpointed_requests(records: Iterable[Record]) -> tuple[CheckpointedRequest, ...]:
    """The requests of a session in their order."""
    fold = _Fold()
    for record in records:
        try:
            payload = payload_of(record)
        except PayloadError:
            continue
        if payload is not None:
            fold.take(payload)
    return tuple(_with_what_follows(fold.requests))


class _Fold:
    """The requests after the records so far."""

    def __init__(self) -> None:
        self.requests: list[CheckpointedRequest] = []
        self._subtasks: set[str] = set()
        self._begun: set[str] = set()
        self._rows: set[int] = set()

    def take(self, payload: Payload) -> None:
        match payload:
            case TaskRecord(parent_task_id=str()):
                self._subtasks.add(payload.task_id)
            case MessageRecord():
                self._row(payload)
            case CheckpointRecord() if self.requests:
                self.requests[-1] = _with_checkpoint(self.requests[-1], payload)
            case _:
                pass

    def _row(self, record: MessageRecord) -> None:
        """The first text of a task is what the person asked; later texts are the model's, but for feedback."""
        row, task = record.message, record.task_id
        if row.ts in self._rows or task in self._subtasks:
            return
        is_first = row.say == "text" and task not in self._begun
        if is_first or row.say == "user_feedback":
            self._rows.add(row.ts)
            self._begun.add(task)
            self.requests.append(CheckpointedRequest(number=len(self.requests) + 1, prompt=row.text or ""))


def _with_checkpoint(request: CheckpointedRequest, record: CheckpointRecord) -> CheckpointedRequest:
    if record.call_id is None:
        return msgspec.structs.replace(request, after=record.checkpoint)
    call = CheckpointedCall(id=record.call_id, tool=record.tool or "", checkpoint=record.checkpoint)
    return msgspec.structs.replace(request, calls=(*request.calls, call), after=None)


def _with_what_follows(requests: list[CheckpointedRequest]) -> list[CheckpointedRequest]:
    """Where nothing was recorded after a request, the next one tells what it left."""
    following: str | None = None
    found: list[CheckpointedRequest] = []
    for request in reversed(requests):
        found.append(msgspec.structs.replace(request, after=request.after or following))
        following = request.before or following
    return found[::-1]
