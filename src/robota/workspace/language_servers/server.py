"""One running language server: the files it knows, and what it says about them."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote, urlsplit

import msgspec

from robota.version import VERSION
from robota.workspace.language_servers.catalogue import ServerKind
from robota.workspace.language_servers.connection import Connection, NotAnswered, Pipes, RequestFailed, ServerEnded
from robota.workspace.language_servers.messages import (
    Diagnostic,
    DiagnosticReport,
    FileLocation,
    Hover,
    Initialized,
    LocationLink,
    MarkedText,
    Position,
    Progress,
    PublishedDiagnostics,
    Range,
    Registrations,
    ServerCapabilities,
    Unregistrations,
    WorkspaceEdit,
)
from robota.workspace.language_servers.positions import ENCODINGS, PositionedText, PositionEncoding
from robota.workspace.search.stamped_files import FileChanges

START_S: Final = 30.0
ANSWER_S: Final = 20.0
# A task that a server reports begins at the latest this long after the start.
FIRST_PROGRESS_S: Final = 0.3
# Diagnostics that come by themselves are complete if no others follow for this long.
SETTLED_S: Final = 0.3
MAX_OPEN: Final = 50
MAX_DIAGNOSTICS: Final = 2_000
PULL: Final = "textDocument/diagnostic"
CREATED, CHANGED, DELETED = 1, 2, 3
T = TypeVar("T")

CLIENT_CAPABILITIES: Final[dict[str, Any]] = {
    "general": {"positionEncodings": list(ENCODINGS)},
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceEdit": {"documentChanges": True},
    },
    "textDocument": {
        "synchronization": {},
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"dynamicRegistration": True},
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "rename": {},
    },
}


class FilePlace(msgspec.Struct, frozen=True, order=True):
    """A part of a file: an absolute path and a range in the units of the server."""

    path: str
    range: Range


class OpenDocument(msgspec.Struct, frozen=True):
    """A file as the server was last sent it."""

    version: int
    text: PositionedText


class LanguageServer:
    """A server that has been started. Its requests raise `ServerEnded`, `RequestFailed` or `NotAnswered`."""

    def __init__(self, kind: ServerKind, root: Path, connection: Connection) -> None:
        self.kind = kind
        self.info = kind.name
        self._root = root
        self._connection = connection
        self._capabilities = ServerCapabilities()
        self._open: OrderedDict[str, OpenDocument] = OrderedDict()
        self._version = 0
        self._registered: dict[str, str] = {}
        self._progress: set[int | str] = set()
        self._begun = 0.0
        self._has_progressed = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._published: dict[str, PublishedDiagnostics] = {}
        self._news = asyncio.Event()

    @classmethod
    async def start(
        cls, kind: ServerKind, root: Path, start: Callable[[Callable[[bytes], None], Callable[[str], None]], Pipes]
    ) -> "LanguageServer":
        """Start a server; `start` begins its process, given what to call with its output and at its end."""
        server: LanguageServer
        connection = Connection(
            on_notice=lambda method, params: server.noticed(method, params),
            answer=lambda method, params: server.answer(method, params),
        )
        server = cls(kind, root, connection)
        connection.open(start(connection.received, connection.end))
        try:
            await server._initialize()
        except BaseException:
            connection.end("it did not start")
            raise
        return server

    @property
    def ended(self) -> str | None:
        """Why it has ended; None while it works."""
        return self._connection.ended

    @property
    def encoding(self) -> PositionEncoding:
        """How it counts characters."""
        encoding = self._capabilities.position_encoding
        return next((each for each in ENCODINGS if each == encoding), "utf-16")

    def can(self, what: str) -> bool:
        """Whether it has a capability, by its name in `ServerCapabilities`."""
        return bool(getattr(self._capabilities, what)) or (what == "diagnostic_provider" and self._can_pull())

    async def is_ready(self, patience_s: float) -> bool:
        """Whether it has read the project, as far as it says; waits for that."""
        loop = asyncio.get_running_loop()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(min(self._begun + FIRST_PROGRESS_S, loop.time() + patience_s)):
                await self._has_progressed.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._is_idle.wait()
        return self._is_idle.is_set() and self.ended is None

    def show(self, path: Path, text: str) -> PositionedText:
        """Send the content of a file, if the server has another; the text as it is counted."""
        uri = uri_of(path)
        known = self._open.get(uri)
        if known is not None and known.text.text == text:
            self._open.move_to_end(uri)
            return known.text
        self._version += 1
        document = OpenDocument(self._version, PositionedText(text, self.encoding))
        self._published.pop(uri, None)
        if known is None:
            language = self.kind.languages.get(path.suffix.lower(), "plaintext")
            opened = {"uri": uri, "languageId": language, "version": self._version, "text": text}
            self._connection.notify("textDocument/didOpen", {"textDocument": opened})
        else:
            versioned = {"uri": uri, "version": self._version}
            self._connection.notify(
                "textDocument/didChange",
                {"textDocument": versioned, "contentChanges": [self._change(known.text, text)]},
            )
        self._open[uri] = document
        self._open.move_to_end(uri)
        while len(self._open) > MAX_OPEN:
            self.close_document(path_of(next(iter(self._open))) or Path())
        return document.text

    def shown(self) -> Sequence[Path]:
        """The files that it was sent."""
        return [path for uri in self._open if (path := path_of(uri)) is not None]

    def text_of(self, path: Path) -> PositionedText | None:
        """A file as it was last sent; None if it was not."""
        known = self._open.get(uri_of(path))
        return None if known is None else known.text

    def close_document(self, path: Path) -> None:
        """Let the server read a file from disk again."""
        uri = uri_of(path)
        if self._open.pop(uri, None) is not None:
            self._published.pop(uri, None)
            self._connection.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def note_changes(self, changes: FileChanges) -> None:
        """Tell it which files of the project changed on disk."""
        kinds = ((CREATED, changes.created), (CHANGED, changes.changed), (DELETED, changes.deleted))
        events = [{"uri": uri_of(self._root / path), "type": kind} for kind, paths in kinds for path in paths]
        if events:
            self._connection.notify("workspace/didChangeWatchedFiles", {"changes": events})

    async def definition(self, path: Path, position: Position) -> tuple[FilePlace, ...]:
        """Where a name is defined."""
        return await self._places("textDocument/definition", path, position)

    async def implementations(self, path: Path, position: Position) -> tuple[FilePlace, ...]:
        """What implements or overrides it."""
        return await self._places("textDocument/implementation", path, position)

    async def references(self, path: Path, position: Position) -> tuple[FilePlace, ...]:
        """Where it is used, its definition included."""
        context = {"context": {"includeDeclaration": True}}
        return await self._places("textDocument/references", path, position, context)

    async def hover(self, path: Path, position: Position) -> str:
        """What it says about a name; empty if nothing."""
        raw = await self._connection.request("textDocument/hover", _at(path, position), msgspec.Raw, ANSWER_S)
        with suppress(msgspec.DecodeError):  # null, or a form that nobody uses any longer
            return _plain(msgspec.json.decode(raw, type=Hover).contents)
        return ""

    async def rename(self, path: Path, position: Position, name: str) -> WorkspaceEdit | None:
        """The edits that rename a symbol; None if it cannot be renamed."""
        params = {**_at(path, position), "newName": name}
        raw = await self._connection.request("textDocument/rename", params, msgspec.Raw, ANSWER_S)
        return None if raw == b"null" else msgspec.json.decode(raw, type=WorkspaceEdit)

    async def diagnostics(self, path: Path, timeout_s: float) -> tuple[Diagnostic, ...] | None:
        """The diagnostics of a file that was shown; None if it has not said in time, which does not mean none."""
        if self._can_pull():
            params = {"textDocument": {"uri": uri_of(path)}}
            try:
                report = await self._connection.request(PULL, params, DiagnosticReport, timeout_s)
            except (NotAnswered, RequestFailed):
                return None
            return tuple(report.items[:MAX_DIAGNOSTICS])
        return await self._settled(uri_of(path), timeout_s)

    async def stop(self) -> None:
        """Ask it to end, and end it."""
        with suppress(ServerEnded, RequestFailed, NotAnswered):
            await self._connection.request("shutdown", None, msgspec.Raw, 1.0)
            self._connection.notify("exit", None)
        self._connection.end("it was stopped")

    def abandon(self, why: str) -> None:
        """End it at once."""
        self._connection.end(why)

    def noticed(self, method: str, params: msgspec.Raw) -> None:
        """Handle a notification; what cannot be decoded is left out."""
        with suppress(msgspec.DecodeError):
            match method:
                case "$/progress":
                    self._progressed(msgspec.json.decode(params, type=Progress))
                case "textDocument/publishDiagnostics":
                    published = msgspec.json.decode(params, type=PublishedDiagnostics)
                    document = self._open.get(published.uri)
                    if document is not None and published.version in {None, document.version}:
                        self._published[published.uri] = published
                        self._news.set()
                case _:
                    pass

    def answer(self, method: str, params: msgspec.Raw) -> Any:
        """The result of a request of the server; `NotImplementedError` if there is none."""
        match method:
            case "workspace/configuration":
                items = msgspec.json.decode(params).get("items", ())
                return [None for _ in items]
            case "workspace/workspaceFolders":
                return [{"uri": uri_of(self._root), "name": self._root.name}]
            case "client/registerCapability":
                for each in msgspec.json.decode(params, type=Registrations).registrations:
                    self._registered[each.id] = each.method
            case "client/unregisterCapability":
                for each in msgspec.json.decode(params, type=Unregistrations).unregisterations:
                    self._registered.pop(each.id, None)
            case "window/workDoneProgress/create" | "workspace/diagnostic/refresh":
                pass
            case _:
                raise NotImplementedError
        return None

    async def _initialize(self) -> None:
        params = {
            "processId": None,  # in the sandbox ours means another process, or none
            "clientInfo": {"name": "robota", "version": VERSION},
            "rootUri": uri_of(self._root),
            "workspaceFolders": [{"uri": uri_of(self._root), "name": self._root.name}],
            "capabilities": CLIENT_CAPABILITIES,
            "initializationOptions": dict(self.kind.options),
        }
        initialized = await self._connection.request("initialize", params, Initialized, START_S)
        self._capabilities = initialized.capabilities
        self.info = f"{initialized.server_info.name or self.kind.name} {initialized.server_info.version}".strip()
        self._connection.notify("initialized", {})
        self._begun = asyncio.get_running_loop().time()

    def _change(self, before: PositionedText, text: str) -> dict[str, Any]:
        sync = self._capabilities.text_document_sync
        kind = sync.get("change", 0) if isinstance(sync, dict) else sync
        if kind == 2:  # by parts: the whole of the text before is one
            whole = {"start": {"line": 0, "character": 0}, "end": msgspec.to_builtins(before.end)}
            return {"range": whole, "text": text}
        return {"text": text}

    def _can_pull(self) -> bool:
        return bool(self._capabilities.diagnostic_provider) or PULL in self._registered.values()

    async def _places(
        self, method: str, path: Path, position: Position, more: dict[str, Any] | None = None
    ) -> tuple[FilePlace, ...]:
        params = {**_at(path, position), **(more or {})}
        raw = await self._connection.request(method, params, msgspec.Raw, ANSWER_S)
        answered = msgspec.json.decode(raw)
        listed = answered if isinstance(answered, list) else [answered] if answered else []
        return tuple(sorted({place for each in listed if (place := _place(each)) is not None}))

    async def _settled(self, uri: str, timeout_s: float) -> tuple[Diagnostic, ...] | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while True:
                    self._news.clear()
                    if uri not in self._published:
                        await self._news.wait()
                        continue
                    try:
                        async with asyncio.timeout(SETTLED_S):
                            await self._news.wait()
                    except TimeoutError:
                        break
        published = self._published.get(uri)
        return None if published is None else tuple(published.diagnostics[:MAX_DIAGNOSTICS])

    def _progressed(self, progress: Progress) -> None:
        kind = progress.value.get("kind") if isinstance(progress.value, dict) else None
        if kind == "begin":
            self._progress.add(progress.token)
        elif kind == "end":
            self._progress.discard(progress.token)
        self._has_progressed.set()
        if self._progress:
            self._is_idle.clear()
        else:
            self._is_idle.set()


def uri_of(path: Path) -> str:
    """The address of an absolute path, as servers expect it; bytes that are no text are kept as they are."""
    return f"file://{quote(bytes(path))}"


def path_of(uri: str) -> Path | None:
    """The path of an address; None if it is not of a file on this machine."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or "\0" in unquote(parts.path):
        return None
    return Path(unquote(parts.path, errors="surrogateescape"))


def _at(path: Path, position: Position) -> dict[str, Any]:
    return {"textDocument": {"uri": uri_of(path)}, "position": msgspec.to_builtins(position)}


def _place(answered: Any) -> FilePlace | None:
    """A place in either of the forms that servers use; None if it is neither, or not in a file."""
    with suppress(msgspec.ValidationError):
        location = msgspec.convert(answered, FileLocation)
        path = path_of(location.uri)
        return None if path is None else FilePlace(str(path), location.range)
    with suppress(msgspec.ValidationError):
        link = msgspec.convert(answered, LocationLink)
        path = path_of(link.target_uri)
        return None if path is None else FilePlace(str(path), link.target_selection_range)
    return None


def _plain(contents: MarkedText | str | Iterable[MarkedText | str]) -> str:
    if isinstance(contents, str):
        return contents
    if isinstance(contents, MarkedText):
        return contents.value
    return "\n\n".join(_plain(each) for each in contents)
