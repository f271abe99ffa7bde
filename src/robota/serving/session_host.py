"""`SessionHost`: runs any number of sessions in this process, and finds those of other processes."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import msgspec

from robota.app.session import OpenSession, open_session
from robota.commands.command_session import CommandSession
from robota.commands.session_commands import with_commands
from robota.commands.sessions.known_sessions import (
    known_running,
    known_stored,
    pending_asks,
    stored_session,
    stored_sessions,
)
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.config.paths import user_directory
from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.catalogue.trash import delete_session
from robota.log.chain.writer import wall_clock_ms
from robota.log.errors import LogError
from robota.log.snapshot_keeper import drop_snapshot
from robota.protocol.commands import Accepted, Receipt, Refused
from robota.protocol.connection.known_session import KnownSession, SessionAsk, SessionStart
from robota.protocol.connection.lines import ServerHello
from robota.protocol.port import EditorFiles, SessionWindow
from robota.protocol.slash_commands import SessionWanted
from robota.protocol.state import detect_agent_state
from robota.serving.door import Door
from robota.serving.greeting import greeting_of
from robota.serving.held_session import held
from robota.serving.resuming import CopyOfSession, copy_of_session
from robota.serving.switching import launch_again, open_wanted
from robota.transport.doors import DIRECTORY
from robota.transport.entering import enter
from robota.transport.remote_session import NotConnected, RemoteSession
from robota.transport.running_sessions import RunningSession, running_sessions
from robota.workspace.agent_witness import mark_with_witness

CLIENT: Final = "robota host"


class HeldWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A window on a session of this process."""

    opened: OpenSession
    hello: ServerHello
    session: CommandSession
    closing: AsyncExitStack

    async def leave(self) -> None:
        """The host keeps the session."""


class RemoteWindow(msgspec.Struct, frozen=True, kw_only=True):
    """A window on a session of another process."""

    hello: ServerHello
    session: RemoteSession

    async def leave(self) -> None:
        await self.session.close()


class SessionHost:
    """A `HostPort`. Sessions share no global state.

    `launch` has the options that they have in common; `tell` gets the notices of all of them; answers are recorded as
    those of `client`. `close_all` must be called.
    """

    def __init__(
        self,
        env: Mapping[str, str] | None = None,
        tell: Callable[[str], None] = lambda notice: None,
        launch: LaunchOptions | None = None,
        client: str = CLIENT,
    ) -> None:
        self._env = os.environ if env is None else env
        self._tell = tell
        self._launch = launch or LaunchOptions()
        self._doors = user_directory(self._env) / DIRECTORY
        self._held: dict[str, HeldWindow] = {}
        self._opening = asyncio.Lock()
        self._client = client
        self._following: set[asyncio.Task[None]] = set()

    async def sessions(self, cwd: str | None = None) -> tuple[KnownSession, ...]:
        running = await self._running()
        running_ids = {each.session_id for each in running}
        stored = [known_stored(each) for each in await stored_sessions(self._env, cwd) if each.id not in running_ids]
        return (*(each for each in running if cwd is None or _is_same(each.cwd, cwd)), *stored)

    async def inbox(self) -> tuple[SessionAsk, ...]:
        running, stored = await self._running(), await stored_sessions(self._env, None)
        return await asyncio.to_thread(pending_asks, running, stored, self._env, wall_clock_ms())

    async def open(self, start: SessionStart, editor: EditorFiles | None = None) -> SessionWindow | Refused:
        given = {name: value for name, value in msgspec.structs.asdict(start).items() if value not in (None, (), {})}
        given = {name: value for name, value in given.items() if name not in ("mcp_servers", "add_dir")}
        launch = msgspec.structs.replace(self._launch, **{**given, "cwd": Path(start.cwd)})
        return await self._hold(_brought(launch, start, editor))

    async def resume(
        self, session_id: str, start: SessionStart | None = None, editor: EditorFiles | None = None
    ) -> SessionWindow | Refused:
        if session_id in self._held:
            return self._held[session_id]
        stored = await self._stored(session_id)
        if isinstance(stored, Refused):
            # A session that nobody has prompted yet is in no list.
            running = await self.attach(session_id)
            return stored if isinstance(running, Refused) else running
        if stored.is_live:
            return await self.attach(session_id)
        if not stored.is_own:
            return _not_own(stored)
        launch = _brought(msgspec.structs.replace(self._launch, cwd=Path(stored.workspace)), start, editor)
        return await self._hold(launch_again(launch, stored.directory))

    async def fork(
        self, session_id: str, start: SessionStart, editor: EditorFiles | None = None
    ) -> SessionWindow | Refused:
        stored = await self._stored(session_id)
        if isinstance(stored, Refused):
            return stored
        if not stored.is_own:
            return _not_own(stored)
        root, user = Path(stored.workspace), user_directory(self._env)
        try:
            copy = await asyncio.to_thread(
                copy_of_session, stored.directory, CopyOfSession(), root, user, dict(self._env)
            )
        except LogError as error:
            return Refused(code="not_copied", message=str(error))
        launch = _brought(msgspec.structs.replace(self._launch, cwd=root), start, editor)
        return await self._hold(launch_again(launch, copy))

    async def delete(self, session_id: str) -> Receipt:
        await self.close(session_id)
        stored = await self._stored(session_id)
        if isinstance(stored, Refused):
            return stored
        try:
            await asyncio.to_thread(delete_session, stored.directory, wall_clock_ms())
        except LogError as error:
            return Refused(code="not_deleted", message=str(error))
        drop_snapshot(user_directory(self._env), stored.directory)
        return Accepted(id=session_id)

    async def reopen(self, session_id: str, wanted: SessionWanted) -> SessionWindow | Refused:
        window = self._held.get(session_id)
        if window is None:
            why = "runs in another process, which alone can change that"
            return Refused(code="no_session", message=f"The session {session_id} {why}. Nothing was changed.")
        await self.close(session_id)
        try:
            opened = open_wanted(window.opened.options.launch, wanted, session_id, self._env, self._tell)
        except (ConfigError, LogError) as error:
            return Refused(code="not_opened", message=str(error))
        return await self._keep(opened)

    async def attach(self, session_id: str) -> SessionWindow | Refused:
        if session_id in self._held:
            return self._held[session_id]
        try:
            session, hello = await enter(self._doors, session_id, self._client)
        except NotConnected as problem:
            return Refused(code="not_connected", message=f"{problem} Nothing was changed.")
        return RemoteWindow(hello=hello, session=session)

    async def close(self, session_id: str) -> Receipt:
        window = self._held.pop(session_id, None)
        if window is None:
            return Refused(code="no_session", message=f"This process does not run the session {session_id}.")
        await window.closing.aclose()
        return Accepted(id=session_id)

    async def close_all(self) -> None:
        """Close every session of this process."""
        await asyncio.gather(*(self.close(each) for each in list(self._held)))

    async def _hold(self, launch: LaunchOptions) -> SessionWindow | Refused:
        """Open a session and keep it running."""
        mark_with_witness()
        async with self._opening:
            try:
                return await self._keep(open_session(launch, self._env))
            except (ConfigError, LogError) as error:
                return Refused(code="not_opened", message=str(error))

    async def _keep(self, opened: OpenSession) -> HeldWindow:
        """Keep a session running. Raises `LogError`."""
        closing = AsyncExitStack()
        door = await closing.enter_async_context(held(opened, self._env, self._tell))
        window = HeldWindow(
            opened=opened,
            hello=greeting_of(opened, wall_clock_ms()),
            session=with_commands(opened, self._env, self._client),
            closing=closing,
        )
        self._held[opened.options.session_id] = window
        if door is not None:
            following = asyncio.create_task(self._follow(window, door))
            self._following.add(following)
            following.add_done_callback(self._following.discard)
        return window

    async def _follow(self, window: HeldWindow, door: Door) -> None:
        """When a window has closed the session, close it here, too, or open it again as the window wants it."""
        session_id = window.opened.options.session_id
        if await door.is_closed_by_window() and self._held.get(session_id) is window:
            await (self.close(session_id) if door.wanted is None else self.reopen(session_id, door.wanted))

    async def _running(self) -> list[KnownSession]:
        """The running sessions, oldest first."""
        here = [known_running(_as_running(each)) for each in self._held.values()]
        others = await running_sessions(self._doors, besides=frozenset(self._held))
        both = [*here, *map(known_running, others.sessions)]
        return sorted(both, key=lambda each: each.process.since_ms if each.process else 0)

    async def _stored(self, session_id: str) -> CataloguedSession | Refused:
        stored = await stored_session(self._env, session_id)
        if stored is not None:
            return stored
        return Refused(code="no_session", message=f"There is no session {session_id}. Nothing was started.")


def _as_running(window: HeldWindow) -> RunningSession:
    state = window.opened.session.state()
    return RunningSession(hello=window.hello, state=state, info=detect_agent_state(state.cline_messages))


def _brought(launch: LaunchOptions, start: SessionStart | None, editor: EditorFiles | None) -> LaunchOptions:
    """The launch options with the editor, the directories and, besides those of the settings, the MCP servers of a
    client."""
    if editor is not None:
        launch = msgspec.structs.replace(launch, additions=msgspec.structs.replace(launch.additions, editor=editor))
    if start is None:
        return launch
    launch = msgspec.structs.replace(launch, add_dir=(*launch.add_dir, *map(Path, start.add_dir)))
    if not start.mcp_servers:
        return launch
    both = {**launch.settings.get("mcpServers", {}), **start.mcp_servers}
    return msgspec.structs.replace(launch, settings={**launch.settings, "mcpServers": both})


def _not_own(stored: CataloguedSession) -> Refused:
    why = f"The session {stored.id} was not written on this machine in this directory. Nothing was started. "
    return Refused(code="foreign_session", message=f"{why}To review it: robota --resume {stored.id}")


def _is_same(directory: str, typed: str) -> bool:
    return Path(directory) == Path(os.path.realpath(typed))
