"""`AcpAgent`: the methods that an editor calls."""

import asyncio
import posixpath
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from robota.clients.acp.connection import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    AcpConnection,
    RpcError,
    RpcResult,
)
from robota.clients.acp.content import AcpValue
from robota.clients.acp.editor_files import AcpFiles
from robota.clients.acp.editor_session import EditorSession
from robota.clients.acp.options import session_fields
from robota.clients.acp.received import (
    AuthenticateParams,
    EditorCapabilities,
    InitializeParams,
    ListSessionsParams,
    LoadSessionParams,
    NewSessionParams,
    PromptParams,
    SessionParams,
    SetModeParams,
    SetOptionParams,
)
from robota.clients.acp.terminals import TerminalOutput
from robota.protocol.commands import Refused
from robota.protocol.connection.known_session import KnownSession, SessionStart
from robota.protocol.port import HostPort, SessionWindow
from robota.protocol.slash_commands import SessionWanted
from robota.version import VERSION

PROTOCOL: Final = 1
PAGE: Final = 100
FROM_SETTINGS: Final = "settings"
CAPABILITIES: Final[Mapping[str, Any]] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {
        "list": {},
        "resume": {},
        "close": {},
        "delete": {},
        "fork": {},
        "additionalDirectories": {},
    },
}
SETTINGS_AUTH: Final = {
    "id": FROM_SETTINGS,
    "name": "Robota's settings",
    "description": "Use the providers and keys that robota is set up with.",
}
LOGIN_AUTH: Final = {
    "id": "login",
    "name": "Log in",
    "description": "Set up a provider and its key in a terminal.",
    "type": "terminal",
    "args": ["login"],
}

Method = Callable[[Any], Awaitable[RpcResult]]


class AcpAgent:
    """Serves one editor, which may have many sessions."""

    def __init__(self, host: HostPort, connection: AcpConnection, open_output: Callable[[], TerminalOutput]) -> None:
        """`open_output` is used where the editor has terminals."""
        self._open_output = open_output
        self._host = host
        self._connection = connection
        self._capabilities = EditorCapabilities()
        self._sessions: dict[str, EditorSession] = {}
        self._introducing: set[asyncio.Task[None]] = set()
        self._methods: Mapping[str, tuple[type[AcpValue], Method]] = {
            "initialize": (InitializeParams, self._initialize),
            "authenticate": (AuthenticateParams, self._authenticate),
            "session/new": (NewSessionParams, self._new),
            "session/load": (LoadSessionParams, self._load),
            "session/resume": (LoadSessionParams, self._resume),
            "session/fork": (LoadSessionParams, self._fork),
            "session/delete": (SessionParams, self._delete),
            "session/list": (ListSessionsParams, self._list),
            "session/close": (SessionParams, self._close),
            "session/set_mode": (SetModeParams, self._set_mode),
            "session/set_config_option": (SetOptionParams, self._set_option),
            "session/prompt": (PromptParams, self._prompt),
        }

    async def run(self) -> None:
        """Serve the editor until it sends nothing more."""
        try:
            await self._connection.follow(self._handle, self._hear)
        finally:
            for session in self._sessions.values():
                await session.leave()

    async def _handle(self, method: str, params: Any) -> RpcResult:
        if method not in self._methods:
            raise RpcError(METHOD_NOT_FOUND, f"There is no method {method}.")
        shape, call = self._methods[method]
        return await call(msgspec.convert({} if params is None else params, shape))

    def _hear(self, method: str, params: Any) -> None:
        if method != "session/cancel":
            return
        session = self._sessions.get(str(params.get("sessionId"))) if isinstance(params, dict) else None
        if session is not None:
            # After the prompt that came just before it has begun.
            asyncio.get_running_loop().call_soon(session.cancel)

    async def _initialize(self, given: InitializeParams) -> RpcResult:
        self._capabilities = given.client_capabilities
        methods = [SETTINGS_AUTH, *([LOGIN_AUTH] if self._capabilities.signs_in_at_terminals else [])]
        result = {
            "protocolVersion": PROTOCOL,
            "agentCapabilities": CAPABILITIES,
            "authMethods": methods,
            "agentInfo": {"name": "robota", "title": "Robota", "version": VERSION},
        }
        return RpcResult(result=result)

    async def _authenticate(self, given: AuthenticateParams) -> RpcResult:
        if given.method_id != FROM_SETTINGS:
            raise RpcError(INVALID_PARAMS, f"There is no way to sign in called {given.method_id!r}.")
        return RpcResult()

    async def _new(self, given: NewSessionParams) -> RpcResult:
        files = self._files()
        return await self._created(await self._held(await self._host.open(_start(given), files), files, INVALID_PARAMS))

    async def _fork(self, given: LoadSessionParams) -> RpcResult:
        files = self._files()
        window = await self._host.fork(given.session_id, _start(given), files)
        return await self._created(await self._held(window, files, RESOURCE_NOT_FOUND))

    async def _created(self, session: EditorSession) -> RpcResult:
        fields = session_fields(session.state, await session.options(asks_provider=False))
        return RpcResult(result={"sessionId": session.id, **fields}, then=lambda: self._introduce(session))

    async def _load(self, given: LoadSessionParams) -> RpcResult:
        session = await self._stored(given)
        await session.replay()
        return await self._continued(session)

    async def _resume(self, given: LoadSessionParams) -> RpcResult:
        return await self._continued(await self._stored(given))

    async def _continued(self, session: EditorSession) -> RpcResult:
        fields = session_fields(session.state, await session.options(asks_provider=False))
        return RpcResult(result=fields, then=lambda: self._introduce(session))

    async def _stored(self, given: LoadSessionParams) -> EditorSession:
        start = _start(given)
        if given.session_id in self._sessions:
            return self._sessions[given.session_id]
        files = self._files()
        return await self._held(await self._host.resume(given.session_id, start, files), files, RESOURCE_NOT_FOUND)

    def _files(self) -> AcpFiles | None:
        return AcpFiles(self._connection) if self._capabilities.edits_files else None

    async def _list(self, given: ListSessionsParams) -> RpcResult:
        known = await self._host.sessions(None if given.cwd is None else _absolute(given.cwd))
        first = int(given.cursor) if given.cursor is not None and given.cursor.isdecimal() else 0
        rest = len(known) - first - PAGE
        result = {"sessions": [_info(each) for each in known[first : first + PAGE]]}
        return RpcResult(result={**result, "nextCursor": str(first + PAGE)} if rest > 0 else result)

    async def _close(self, given: SessionParams) -> RpcResult:
        session = self._session(given.session_id)
        session.cancel()
        del self._sessions[session.id]
        await session.leave()
        await self._host.close(session.id)
        return RpcResult()

    async def _delete(self, given: SessionParams) -> RpcResult:
        if given.session_id in self._sessions:
            await self._close(given)
        receipt = await self._host.delete(given.session_id)
        if isinstance(receipt, Refused):
            raise RpcError(RESOURCE_NOT_FOUND, receipt.message)
        return RpcResult()

    async def _set_mode(self, given: SetModeParams) -> RpcResult:
        await self._session(given.session_id).set_mode(given.mode_id)
        return RpcResult()

    async def _set_option(self, given: SetOptionParams) -> RpcResult:
        session = self._session(given.session_id)
        await session.set_option(given.config_id, given.value)
        return RpcResult(result={"configOptions": await session.options()})

    async def _prompt(self, given: PromptParams) -> RpcResult:
        return RpcResult(result={"stopReason": await self._session(given.session_id).prompt(given.prompt)})

    def _session(self, session_id: str) -> EditorSession:
        if session_id not in self._sessions:
            raise RpcError(RESOURCE_NOT_FOUND, f"The session {session_id} is not open here. Load or resume it first.")
        return self._sessions[session_id]

    async def _held(self, window: SessionWindow | Refused, files: AcpFiles | None, code: int) -> EditorSession:
        if isinstance(window, Refused):
            raise RpcError(code, window.message)
        session_id = window.hello.session_id
        if files is not None:
            files.session_id = session_id

        async def reopen(wanted: SessionWanted) -> SessionWindow:
            again = await self._host.reopen(session_id, wanted)
            if isinstance(again, Refused):
                raise RpcError(INTERNAL_ERROR, again.message)
            return again

        session = EditorSession(
            window,
            self._connection,
            reopen,
            asks_forms=self._capabilities.asks_forms,
            open_output=self._open_output if self._capabilities.terminal else None,
        )
        await session.begin()
        self._sessions[session.id] = session
        return session

    def _introduce(self, session: EditorSession) -> None:
        task = asyncio.get_running_loop().create_task(session.introduce())
        self._introducing.add(task)
        task.add_done_callback(self._introducing.discard)


def _absolute(cwd: str) -> str:
    if not posixpath.isabs(cwd):
        raise RpcError(INVALID_PARAMS, f"The directory must be an absolute path, not {cwd!r}. Nothing was started.")
    return cwd


def _start(given: NewSessionParams) -> SessionStart:
    return SessionStart(
        cwd=_absolute(given.cwd),
        add_dir=tuple(map(_absolute, given.additional_directories)),
        mcp_servers={each.name: each.as_setting for each in given.mcp_servers},
    )


def _info(known: KnownSession) -> dict[str, Any]:
    modified = datetime.fromtimestamp(known.modified_ms / 1000, UTC).isoformat() if known.modified_ms else None
    fields = {
        "sessionId": known.session_id,
        "cwd": known.cwd,
        "title": known.name or known.title,
        "updatedAt": modified,
    }
    return {name: value for name, value in fields.items() if value}
