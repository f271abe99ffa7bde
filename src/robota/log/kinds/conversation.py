"""Records of a conversation: the rows that clients show, the turns that the model is told, and their reductions."""

from typing import Any, ClassVar, Self

import msgspec

from robota.log.record import Payload, record_kind
from robota.protocol.codec import message_of
from robota.protocol.conversation import Turn, UserTurn
from robota.protocol.message import Message
from robota.protocol.wire import Value


@record_kind("message")
class MessageRecord(Payload, frozen=True, kw_only=True):
    """A row of the conversation. One with the `ts` of an earlier row replaces it."""

    task_id: str
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
class MessageTextRecord(Payload, frozen=True, kw_only=True):
    """Text that came for the row `ts` while it streamed. The row itself follows, whole, when it is complete."""

    task_id: str
    ts: int
    added: str


@record_kind("turn")
class TurnRecord(Payload, frozen=True, kw_only=True):
    """A turn as the provider is told of it."""

    task_id: str
    turn: Turn


@record_kind("condense")
class CondenseRecord(Payload, frozen=True, kw_only=True):
    """The turns of a task numbered `first` up to `end` are shown to the model as a summary from now on.

    Those in `keep` stay as they are, after it.
    """

    task_id: str
    condense_id: str
    trigger: str
    first: int
    end: int
    put: UserTurn
    keep: tuple[int, ...] = ()
    read_files: tuple[str, ...] = ()
    changed_files: tuple[str, ...] = ()


@record_kind("truncate")
class TruncateRecord(Payload, frozen=True, kw_only=True):
    """The turns numbered `first` up to `end` are no longer shown to the model; `put` stands in their place.

    Those in `keep` stay as they are, after it. Records with the same id belong together; an id may also be that of a
    condensation.
    """

    task_id: str
    truncation_id: str
    first: int
    end: int
    put: UserTurn
    keep: tuple[int, ...] = ()


class CutResult(Value, frozen=True, kw_only=True):
    """What is shown in place of the result of a call in a turn."""

    turn: int
    call_id: str
    put: str


@record_kind("cut")
class CutRecord(Payload, frozen=True, kw_only=True):
    """These results of calls are shown to the model in short from now on."""

    task_id: str
    cut_id: str
    results: tuple[CutResult, ...]


@record_kind("restore")
class RestoreRecord(Payload, frozen=True, kw_only=True):
    """A condensation, truncation or cut no longer holds: what it hid is shown again."""

    task_id: str
    id: str


@record_kind("pin")
class PinRecord(Payload, frozen=True, kw_only=True):
    """A turn stays word for word whatever else is taken out of the context; or no longer."""

    task_id: str
    turn: int
    is_pinned: bool


Reduction = CondenseRecord | TruncateRecord | CutRecord
