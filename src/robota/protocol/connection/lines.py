"""The lines of a connection that are neither commands, receipts nor events: who speaks, and what could not be read."""

from enum import StrEnum
from typing import Any, Final, get_args

import msgspec

from robota.protocol.codec import ProtocolError, decode_command
from robota.protocol.commands import ClientCommand, Command
from robota.protocol.wire import OpenValue

PROTOCOL: Final = 1
# A longer line is refused, so that no peer can fill the memory of another.
MAX_LINE_BYTES: Final = 16 * 1024 * 1024


class EventForm(StrEnum):
    """How changes of rows are sent.

    `rows` is the form of clients that know only `state` and `messageUpdated`: the first for every new row, the second
    with the whole row for every change. In the form `deltas` events come as the engine sends them.
    """

    ROWS = "rows"
    DELTAS = "deltas"


class ServerHello(OpenValue, frozen=True, kw_only=True, tag="hello", tag_field="type"):
    """The first line that a session sends: its version, and which session it is."""

    protocol: int
    version: str
    session_id: str
    cwd: str
    pid: int
    since_ms: int


class LineProblem(OpenValue, frozen=True, kw_only=True, tag="error", tag_field="type"):
    """A line could not be used. Nothing was changed."""

    code: str
    message: str


class ClientHello(ClientCommand, frozen=True, kw_only=True, tag="hello"):
    """The first line of a client that knows this page: its version, its name, and how it wants to get events."""

    protocol: int = PROTOCOL
    client: str = ""
    events: EventForm = EventForm.ROWS


class WebviewDidLaunch(ClientCommand, frozen=True, kw_only=True, tag="webviewDidLaunch"):
    """The client is ready: send the whole `state`, and from now on events in the form `rows`."""


class SendMessage(ClientCommand, frozen=True, kw_only=True, tag="message"):
    """Words of the user: the answer to the pending ask, or queued if there is none. They never approve anything."""

    text: str
    images: tuple[str, ...] = ()


class Ping(ClientCommand, frozen=True, kw_only=True, tag="ping"):
    """Answered with a receipt, and nothing else happens."""


class Shutdown(ClientCommand, frozen=True, kw_only=True, tag="shutdown"):
    """End the connection. A session that only this client has is closed, and can be resumed."""


class StopSession(ClientCommand, frozen=True, kw_only=True, tag="stopSession"):
    """Close the session for all its clients. It can be resumed."""


ConnectionRequest = ClientHello | WebviewDidLaunch | SendMessage | Ping | Shutdown | StopSession
Request = ConnectionRequest | Command
ServerLine = ServerHello | LineProblem

# The names of other programs for the same: the command, and its fields by another name.
OTHER_NAMES: Final = {"start": "newTask", "cancel": "cancelTask"}
OTHER_FIELDS: Final = {"prompt": "text"}
REQUEST_TYPES: Final[dict[str, Any]] = {shape.__struct_config__.tag: shape for shape in get_args(ConnectionRequest)}


def request_in(line: bytes) -> Request | LineProblem:
    """The request in a line. One that is no JSON object is a `LineProblem`, an unknown request an `UnknownCommand`."""
    try:
        raw: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return LineProblem(code="not_json", message=f"This line is not JSON, and was ignored: {error}.")
    if not isinstance(raw, dict):
        return LineProblem(code="not_an_object", message="This line is not a JSON object, and was ignored.")
    named = _by_our_names(raw)
    kind = named.get("type")
    shape = REQUEST_TYPES.get(kind) if isinstance(kind, str) else None
    if shape is None:
        return decode_command(line if named is raw else msgspec.json.encode(named))
    try:
        request: Request = msgspec.convert(named, shape, strict=False)
    except msgspec.ValidationError as error:
        return LineProblem(code="invalid_line", message=f"This {kind} was ignored: {error}.")
    return request


def line_in(data: bytes) -> ServerLine | None:
    """The line of a session, if it is neither a receipt nor an event. Raises `ProtocolError`."""
    try:
        line: ServerLine = msgspec.json.decode(data, type=ServerLine)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProtocolError(f"not JSON: {error}") from error
    return line


def _by_our_names(raw: dict[str, Any]) -> dict[str, Any]:
    """A request of programs that write `command` and `prompt`, by the names of this protocol."""
    kind = raw.get("type") if "type" in raw else raw.get("command")
    if not isinstance(kind, str) or (kind not in OTHER_NAMES and "type" in raw):
        return raw
    renamed = {OTHER_FIELDS.get(name, name): value for name, value in raw.items() if name not in ("command", "type")}
    return {"type": OTHER_NAMES.get(kind, kind), **renamed}
