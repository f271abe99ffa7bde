"""JSON in and out of protocol values: unknown fields are kept, unknown values are tolerated."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar, get_args

import msgspec

from robota.protocol.asks.ask import Ask
from robota.protocol.commands import Command, KnownCommand, UnknownCommand
from robota.protocol.events import Event, SessionState, UnknownEvent
from robota.protocol.message import Message
from robota.protocol.views import View

EXTRA: Final = "~extra"
EXTRA_MARK: Final = b'"~extra":{'

T = TypeVar("T")


class ProtocolError(ValueError):
    """The input is not a message of this protocol; the text says where and why."""


def encode(value: Any) -> bytes:
    """One line of JSON, with the unknown fields a value carries spread out again."""
    if isinstance(value, UnknownEvent):
        return msgspec.json.encode(value.data)
    line = msgspec.json.encode(value)
    if EXTRA_MARK not in line:
        return line
    return msgspec.json.encode(_spread(msgspec.json.decode(line)))


def decode_message(data: bytes | str) -> Message:
    """A message from its JSON; unknown fields are kept."""
    return message_of(_load(data))


def decode_messages(data: bytes | str) -> Sequence[Message]:
    """An array of messages."""
    rows = _load(data)
    if not isinstance(rows, list):
        raise ProtocolError("expected a JSON array of messages")
    return [message_of(row, f"message {place}") for place, row in enumerate(rows)]


def decode_command(data: bytes | str) -> Command:
    """A command from its JSON. Anything else is an `UnknownCommand`, so that its sender gets a receipt."""
    raw: Any = None
    try:
        raw = _load(data)
        kind = _kind(raw, "command")
        shape = COMMAND_TYPES.get(kind)
        if shape is None:
            raise ProtocolError(f"unknown command {kind!r}; the commands are {', '.join(sorted(COMMAND_TYPES))}")
        command: Command = _convert(_fold(raw, shape), shape, f"command {kind}")
    except ProtocolError as problem:
        request_id = raw.get("requestId") if isinstance(raw, dict) else None
        return UnknownCommand(problem=str(problem), request_id=request_id if isinstance(request_id, str) else None)
    return command


def decode_event(data: bytes | str) -> Event:
    """An event; one of a kind we do not know comes as `UnknownEvent`."""
    raw = _load(data)
    kind = _kind(raw, "event")
    shape = EVENT_TYPES.get(kind)
    if shape is None:
        return UnknownEvent(data=raw)
    event: Event = _convert(_fold_event(raw, shape), shape, f"event {kind}")
    return event


def message_of(raw: Any, where: str = "message") -> Message:
    """A message from parsed JSON."""
    if not isinstance(raw, dict):
        raise ProtocolError(f"{where}: expected a JSON object")
    return _convert(_fold_message(raw), Message, where)


def view_of(raw: dict[str, Any]) -> View:
    """A view from parsed JSON; one of a kind that we cannot draw becomes a line of text."""
    folded = _fold_view(raw)
    view: View = _convert(folded, VIEW_TYPES[folded["kind"]], "view")
    return view


def _load(data: bytes | str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"not JSON: {error}") from error


def _kind(raw: Any, what: str) -> str:
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        raise ProtocolError(f'expected a JSON object with a string "type" that names the {what}')
    kind: str = raw["type"]
    return kind


def _convert(raw: Any, shape: type[T], where: str) -> T:
    try:
        # Not strict: a peer in another language may write 3.0 for 3.
        return msgspec.convert(raw, shape, strict=False)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{where}: {error}") from error


def _fold(raw: dict[str, Any], shape: Any) -> dict[str, Any]:
    """Move the fields `shape` does not have into its `extra`."""
    fields = _known_fields(shape)
    extra = {key: value for key, value in raw.items() if key not in fields}
    if not extra:
        return raw
    return {**{key: value for key, value in raw.items() if key in fields}, EXTRA: extra}


def _fold_event(raw: dict[str, Any], shape: Any) -> dict[str, Any]:
    """The same for an event and the messages inside it."""
    folded = dict(_fold(raw, shape))
    if isinstance(folded.get("message"), dict):
        folded["message"] = _fold_message(folded["message"])
    if isinstance(folded.get("messages"), list):
        folded["messages"] = _fold_messages(folded["messages"])
    if isinstance(folded.get("calls"), list):
        folded["calls"] = _fold_calls(folded["calls"])
    state = folded.get("state")
    if isinstance(state, dict):
        state = dict(_fold(state, SessionState))
        rows, calls = state.get("clineMessages"), state.get("calls")
        if isinstance(rows, list):
            state["clineMessages"] = _fold_messages(rows)
        if isinstance(calls, list):
            state["calls"] = _fold_calls(calls)
        folded["state"] = state
    if isinstance(folded.get("view"), dict):
        folded["view"] = _fold_view(folded["view"])
    return folded


def _fold_messages(rows: list[Any]) -> list[Any]:
    return [_fold_message(row) if isinstance(row, dict) else row for row in rows]


def _fold_calls(calls: list[Any]) -> list[Any]:
    has_view = (isinstance(call, dict) and isinstance(call.get("view"), dict) for call in calls)
    pairs = zip(calls, has_view, strict=True)
    return [{**call, "view": _fold_view(call["view"])} if folds else call for call, folds in pairs]


def _fold_message(raw: dict[str, Any]) -> dict[str, Any]:
    """A message; what it asks is kept as an unknown field if it is of a kind we do not know."""
    asked = raw.get("asked")
    if not isinstance(asked, dict):
        return _fold(raw, Message)
    if asked.get("kind") not in ASK_TYPES:
        own_fields = {key: value for key, value in raw.items() if key != "asked"}
        folded = _fold(own_fields, Message)
        return {**folded, EXTRA: {**folded.get(EXTRA, {}), "asked": asked}}
    if isinstance(asked.get("view"), dict):
        asked = {**asked, "view": _fold_view(asked["view"])}
    return _fold({**raw, "asked": asked}, Message)


def _fold_view(raw: dict[str, Any]) -> dict[str, Any]:
    """A view of an unknown kind becomes a line of text that says so, along with the original."""
    shape = VIEW_TYPES.get(raw.get("kind", ""))
    if shape is not None:
        return _fold(raw, shape)
    text = f"(a view of kind {raw.get('kind')!r} cannot be shown here)"
    return {"kind": "text", "text": text, EXTRA: {"unknown": raw}}


def _spread(node: Any) -> Any:
    if isinstance(node, list):
        return [_spread(item) for item in node]
    if not isinstance(node, dict):
        return node
    extra = node.pop(EXTRA, None)
    return {**(extra or {}), **{key: _spread(value) for key, value in node.items()}}


def _known_fields(shape: Any) -> frozenset[str]:
    fields = _FIELDS.get(shape)
    if fields is None:
        names = {field.encode_name for field in msgspec.structs.fields(shape)} - {EXTRA}
        tag_field = shape.__struct_config__.tag_field
        fields = _FIELDS[shape] = frozenset(names | ({tag_field} if tag_field else set()))
    return fields


_FIELDS: dict[Any, frozenset[str]] = {}
ASK_TYPES: Final = frozenset(shape.__struct_config__.tag for shape in get_args(Ask))
COMMAND_TYPES: Final[dict[str, Any]] = {shape.__struct_config__.tag: shape for shape in get_args(KnownCommand)}
VIEW_TYPES: Final[dict[str, Any]] = {shape.__struct_config__.tag: shape for shape in get_args(View)}
EVENT_TYPES: Final[dict[str, Any]] = {shape.__struct_config__.tag: shape for shape in get_args(Event)}
