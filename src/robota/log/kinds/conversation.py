"""Records of a conversation: the rows that clients show, the turns sent to the model, and their reductions."""

from typing import Any, ClassVar, Self

import msgspec

from robota.log.record import TaskPayload, record_kind
from robota.protocol.codec import message_of
from robota.protocol.conversation import Turn, UserTurn
from robota.protocol.message import Message
from robota.protocol.wire import Value


@record_kind("message")
class MessageRecord(TaskPayload, frozen=True, kw_only=True):
    """A row of the conversation. One with the `ts` of an earlier row replaces it."""

    message: Message

    holds_open_values: ClassVar[bool] = True

    @classmethod
    def from_json(cls, data: bytes | msgspec.Raw) -> Self:
        """The row, with the fields that this version does not know in `extra`."""
        raw = msgspec.json.decode(data, type=_RawMessageRecord)
        return cls(task_id=raw.task_id, message=message_of(raw.message))


class _RawMessageRecord(Value, frozen=True, kw_only=True):
    """A row before its unknown fields have been moved to `extra`, so that none is lost."""

    task_id: str
    message: dict[str, Any]


@record_kind("messageText")
class MessageTextRecord(TaskPayload, frozen=True, kw_only=True):
    """Text that was streamed for the row `ts`. The complete row follows at the end."""

    ts: int
    added: str


@record_kind("turn")
class TurnRecord(TaskPayload, frozen=True, kw_only=True):
    """A turn as it is sent to the provider."""

    turn: Turn


@record_kind("condense")
class CondenseRecord(TaskPayload, frozen=True, kw_only=True):
    """From now on, the turns `first` up to `end` of a task are replaced by a summary for the model.

    The turns in `keep` follow it unchanged.
    """

    condense_id: str
    trigger: str
    first: int
    end: int
    put: UserTurn
    keep: tuple[int, ...] = ()
    read_files: tuple[str, ...] = ()
    changed_files: tuple[str, ...] = ()


@record_kind("truncate")
class TruncateRecord(TaskPayload, frozen=True, kw_only=True):
    """The turns `first` up to `end` are hidden from the model from now on; `put` replaces them.

    The turns in `keep` follow it unchanged. Records with the same id belong together; an id may also be that of a
    condensation.
    """

    truncation_id: str
    first: int
    end: int
    put: UserTurn
    keep: tuple[int, ...] = ()


class CutResult(Value, frozen=True, kw_only=True):
    """The replacement for the result of a call in a turn."""

    turn: int
    call_id: str
    put: str


@record_kind("cut")
class CutRecord(TaskPayload, frozen=True, kw_only=True):
    """From now on, these results of calls are shortened for the model."""

    cut_id: str
    results: tuple[CutResult, ...]


@record_kind("restore")
class RestoreRecord(TaskPayload, frozen=True, kw_only=True):
    """Undo a condensation, truncation or cut: what it hid is shown again."""

    id: str


@record_kind("pin")
class PinRecord(TaskPayload, frozen=True, kw_only=True):
    """Pin or unpin a turn. A pinned turn stays verbatim when the context is reduced."""

    turn: int
    is_pinned: bool


Reduction = CondenseRecord | TruncateRecord | CutRecord
