"""The messages of the Language Server Protocol: their frames, and the few types of it that are needed here."""

import re
from typing import Any, Final

import msgspec

MAX_HEADER_BYTES: Final = 8 * 1024
MAX_BODY_BYTES: Final = 64 * 1024 * 1024
END_OF_HEADER: Final = b"\r\n\r\n"
LENGTH: Final = re.compile(rb"(?:^|\r\n)content-length: *(\d{1,12}) *(?:\r\n|$)", re.IGNORECASE)
METHOD_NOT_FOUND: Final = -32601


class BrokenStream(Exception):
    """What a server sent is no message. The text says why."""


class ErrorOfServer(msgspec.Struct, frozen=True):
    """Why a request failed."""

    code: int = 0
    message: str = ""


class RpcMessage(msgspec.Struct, frozen=True):
    """A message of either side; what it contains is decoded only when it is needed."""

    id: int | str | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"null")
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: ErrorOfServer | None = None


class Position(msgspec.Struct, frozen=True, order=True):
    """A place in a text; both count from 0, `character` in units of the encoding that was agreed on."""

    line: int
    character: int


class Range(msgspec.Struct, frozen=True, order=True):
    """A part of a text; the end is not included."""

    start: Position
    end: Position


class FileLocation(msgspec.Struct, frozen=True):
    """A part of a file."""

    uri: str
    range: Range


class LocationLink(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a file, in the richer form that some servers use."""

    target_uri: str
    target_selection_range: Range


class Diagnostic(msgspec.Struct, frozen=True):
    """What a server has to say about a part of a file; severity 1 is an error, 2 a warning."""

    range: Range
    message: str
    severity: int = 1
    code: str | int | None = None
    source: str | None = None


class PublishedDiagnostics(msgspec.Struct, frozen=True):
    """All diagnostics of a file, sent without being asked; `version` is missing from some servers."""

    uri: str
    diagnostics: list[Diagnostic]
    version: int | None = None


class DiagnosticReport(msgspec.Struct, frozen=True):
    """The answer to the request for the diagnostics of a file."""

    kind: str = "full"
    items: list[Diagnostic] = []


class TextEdit(msgspec.Struct, frozen=True, rename="camel"):
    """A replacement in a file."""

    range: Range
    new_text: str


class VersionedDocument(msgspec.Struct, frozen=True):
    """A file that edits are about."""

    uri: str
    version: int | None = None


class DocumentEdit(msgspec.Struct, frozen=True, rename="camel"):
    """The edits of one file. Operations on files have no `edits`, and a `kind`."""

    text_document: VersionedDocument | None = None
    edits: list[TextEdit] = []
    kind: str | None = None


class WorkspaceEdit(msgspec.Struct, frozen=True, rename="camel"):
    """A change of several files, in one of two forms."""

    changes: dict[str, list[TextEdit]] | None = None
    document_changes: list[DocumentEdit] | None = None


class Registration(msgspec.Struct, frozen=True):
    """Something that a server can do, announced late."""

    id: str
    method: str


class Registrations(msgspec.Struct, frozen=True):
    """What a server announces late."""

    registrations: list[Registration] = []


class Unregistrations(msgspec.Struct, frozen=True):
    """What a server takes back; the misspelling is that of the protocol."""

    unregisterations: list[Registration] = []


class Progress(msgspec.Struct, frozen=True):
    """How far a long task of a server is."""

    token: int | str
    value: Any = None


class ServerCapabilities(msgspec.Struct, frozen=True, rename="camel"):
    """What a server can do, as far as it is used here; most are true, false or an object."""

    position_encoding: str = "utf-16"
    text_document_sync: Any = None
    definition_provider: Any = None
    references_provider: Any = None
    implementation_provider: Any = None
    hover_provider: Any = None
    rename_provider: Any = None
    diagnostic_provider: Any = None


class ServerInfo(msgspec.Struct, frozen=True):
    """How a server calls itself."""

    name: str = ""
    version: str = ""


class Initialized(msgspec.Struct, frozen=True, rename="camel"):
    """The answer to the first request."""

    capabilities: ServerCapabilities
    server_info: ServerInfo = ServerInfo()


class MarkedText(msgspec.Struct, frozen=True):
    """Text, or code in a language."""

    value: str = ""


class Hover(msgspec.Struct, frozen=True):
    """What a server says about a name."""

    contents: MarkedText | str | list[MarkedText | str] = ""


def framed(message: dict[str, Any]) -> bytes:
    """A message as it is sent."""
    body = msgspec.json.encode({"jsonrpc": "2.0", **message})
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class MessageReader:
    """Puts messages together from the bytes of a stream, however they are split."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._length: int | None = None
        self._decoder = msgspec.json.Decoder(RpcMessage)

    def feed(self, data: bytes) -> list[RpcMessage]:
        """The messages that are complete now. Raises `BrokenStream` if this cannot become one."""
        self._waiting += data
        messages = []
        while (body := self._next_body()) is not None:
            try:
                messages.append(self._decoder.decode(body))
            except msgspec.DecodeError as error:
                raise BrokenStream(f"a message is not valid: {error}") from error
        return messages

    def _next_body(self) -> bytes | None:
        if self._length is None:
            end = self._waiting.find(END_OF_HEADER, 0, MAX_HEADER_BYTES)
            if end < 0:
                if len(self._waiting) >= MAX_HEADER_BYTES:
                    raise BrokenStream("a message has no length")
                return None
            length = LENGTH.search(bytes(self._waiting[:end]))
            if length is None:
                raise BrokenStream("a message has no length")
            self._length = int(length[1])
            if self._length > MAX_BODY_BYTES:
                raise BrokenStream(f"a message has {self._length:,} bytes; at most {MAX_BODY_BYTES:,} are read")
            del self._waiting[: end + len(END_OF_HEADER)]
        if len(self._waiting) < self._length:
            return None
        body = bytes(self._waiting[: self._length])
        del self._waiting[: self._length]
        self._length = None
        return body
