"""The kinds of records and the shape of each payload."""

from typing import Any, Final

import msgspec

from robota.log.chain.record import Record
from robota.protocol.codec import ProtocolError, message_of
from robota.protocol.conversation import Turn, UserTurn
from robota.protocol.message import Message, QueuedMessage, TodoItem
from robota.protocol.wire import Value


class SessionHeader(Value, frozen=True, kw_only=True):
    """How a session was started, or taken up again; the newest one holds."""

    id: str
    cwd: str
    model: str
    provider: str
    permission_mode: str
    completion: str
    version: str
    name: str | None = None


class TaskRecord(Value, frozen=True, kw_only=True):
    """A task begins, or goes on after its end, or has changed its mode."""

    task_id: str
    mode: str
    parent_task_id: str | None = None


class MessageRecord(Value, frozen=True, kw_only=True):
    """A row of the conversation. One with the `ts` of an earlier row replaces it."""

    task_id: str
    message: Message


class TurnRecord(Value, frozen=True, kw_only=True):
    """A turn as the provider is told of it."""

    task_id: str
    turn: Turn


class CondenseRecord(Value, frozen=True, kw_only=True):
    """The turns of a task numbered `first` up to `end` are shown to the model as a summary from now on."""

    task_id: str
    condense_id: str
    trigger: str
    first: int
    end: int
    put: UserTurn
    read_files: tuple[str, ...] = ()
    changed_files: tuple[str, ...] = ()


class TruncateRecord(Value, frozen=True, kw_only=True):
    """The turns numbered `first` up to `end` are no longer shown to the model; `put` stands in their place.

    Records with the same id belong together; an id may also be that of a condensation.
    """

    task_id: str
    truncation_id: str
    first: int
    end: int
    put: UserTurn


class RestoreRecord(Value, frozen=True, kw_only=True):
    """A condensation or truncation no longer holds: what it hid is shown again."""

    task_id: str
    id: str


class AnswerRecord(Value, frozen=True, kw_only=True):
    """What a person answered to the ask `ts`. For the audit; never an approval again."""

    task_id: str
    ts: int
    response: str
    text: str | None = None


class VerdictRecord(Value, frozen=True, kw_only=True):
    """What policy said of a call, and why."""

    task_id: str
    call_id: str
    tool: str
    decision: str
    reason: str
    rule: str | None = None


class ToolStartRecord(Value, frozen=True, kw_only=True):
    """A call is about to run, with the input it runs with."""

    task_id: str
    call_id: str
    tool: str
    input: dict[str, Any]


class ToolEndRecord(Value, frozen=True, kw_only=True):
    """A call has ended; `status` is that of the protocol's `toolEnd`."""

    task_id: str
    call_id: str
    tool: str
    status: str
    duration_ms: int


class QueueRecord(Value, frozen=True, kw_only=True):
    """The whole queue of messages that wait their turn."""

    queue: tuple[QueuedMessage, ...]


class TodosRecord(Value, frozen=True, kw_only=True):
    """The whole todo list of a task."""

    task_id: str
    todos: tuple[TodoItem, ...]


class EndRecord(Value, frozen=True, kw_only=True):
    """A task has ended."""

    task_id: str
    outcome: str


class RepairRecord(Value, frozen=True, kw_only=True):
    """The end of the log was damaged. Its bytes lie beside the log in `saved_as`; the log goes on before them."""

    line: int
    reason: str
    removed_bytes: int
    saved_as: str | None = None


Payload = (
    SessionHeader
    | TaskRecord
    | MessageRecord
    | TurnRecord
    | CondenseRecord
    | TruncateRecord
    | RestoreRecord
    | AnswerRecord
    | VerdictRecord
    | ToolStartRecord
    | ToolEndRecord
    | QueueRecord
    | TodosRecord
    | EndRecord
    | RepairRecord
)

KINDS: Final[dict[type[Payload], str]] = {
    SessionHeader: "session",
    TaskRecord: "task",
    MessageRecord: "message",
    TurnRecord: "turn",
    CondenseRecord: "condense",
    TruncateRecord: "truncate",
    RestoreRecord: "restore",
    AnswerRecord: "answer",
    VerdictRecord: "verdict",
    ToolStartRecord: "toolStart",
    ToolEndRecord: "toolEnd",
    QueueRecord: "queue",
    TodosRecord: "todos",
    EndRecord: "end",
    RepairRecord: "repair",
}
SHAPES: Final[dict[str, type[Payload]]] = {kind: shape for shape, kind in KINDS.items()}


class PayloadError(ValueError):
    """The payload of a known kind does not have that kind's shape."""


def kind_of(payload: Payload) -> str:
    return KINDS[type(payload)]


def encode_payload(payload: Payload) -> bytes:
    """The JSON of a payload. Half a surrogate pair, which has no UTF-8 form, is replaced, not refused."""
    value: Any = payload
    if isinstance(payload, MessageRecord) and payload.message.extra:
        value = _with_unknown_fields(payload)
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(with_whole_characters(msgspec.to_builtins(value)))


def payload_of(record: Record) -> Payload | None:
    """The payload as a value, or None for a kind we do not know."""
    shape = SHAPES.get(record.kind)
    if shape is None:
        return None
    try:
        if shape is MessageRecord:
            row = msgspec.json.decode(record.payload, type=_RawMessageRecord)
            return MessageRecord(task_id=row.task_id, message=message_of(row.message))
        return msgspec.json.decode(record.payload, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ProtocolError) as error:
        raise PayloadError(f"{record.kind}: {error}") from error


class _RawMessageRecord(Value, frozen=True, kw_only=True):
    """A message before its unknown fields have been put aside, so that none gets lost."""

    task_id: str
    message: dict[str, Any]


def _with_unknown_fields(payload: MessageRecord) -> dict[str, Any]:
    known = msgspec.to_builtins(msgspec.structs.replace(payload.message, extra={}))
    return {"taskId": payload.task_id, "message": {**payload.message.extra, **known}}


def with_whole_characters(node: Any) -> Any:
    """The same data without halves of surrogate pairs."""
    if isinstance(node, str):
        return node.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(node, list | tuple):
        return [with_whole_characters(item) for item in node]
    if isinstance(node, dict):
        return {with_whole_characters(key): with_whole_characters(value) for key, value in node.items()}
    return node
