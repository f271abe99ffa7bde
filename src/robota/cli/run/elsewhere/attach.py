"""`robota attach`: another window on a session that runs in another process."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Final

import msgspec

from robota.cli.questions import at_terminal
from robota.cli.run.conversation import converse
from robota.commands.verb import Answer, Family, ShellVerb, VerbFailed, ended
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.paths import user_directory
from robota.config.settings.load import load_settings
from robota.protocol.commands import Accepted, Command, Receipt, RunSlashCommand
from robota.protocol.events import Event
from robota.protocol.slash_commands import NextStep, SessionDetached, SessionWanted, TypedCommand, typed_command
from robota.serving.shown_session import ShownSession
from robota.serving.standard_streams import standard_streams
from robota.transport.doors import DIRECTORY
from robota.transport.entering import door_streams, enter, enter_again
from robota.transport.remote_session import NotConnected, RemoteSession
from robota.transport.running_sessions import RunningSession, find_running
from robota.workspace.agent_mark import mark_this_process

CLIENT: Final = "robota attach"
CHUNK_BYTES: Final = 64 * 1024
NO_TERMINAL: Final = (
    "A window needs a terminal for input and output. Nothing was changed. Programs use robota attach --json, scripts "
    "robota state and robota answer."
)


class AttachedWindow(msgspec.Struct, frozen=True, kw_only=True):
    """Which session, and how it is shown."""

    session: Annotated[str | None, Positional("SESSION", "id, id prefix or name; default: the one that runs here")] = (
        None
    )
    plain: Annotated[bool, Option("plain line-by-line interface")] = False
    json: Annotated[bool, Option("pass the lines of the protocol on, between it and standard streams")] = False


def attach(host: VerbHost, args: AttachedWindow) -> Answer:
    """Show the session until the user leaves this window, or the session ends."""
    if not args.json and not at_terminal():
        raise VerbFailed(NO_TERMINAL)
    try:
        end = asyncio.run(_attach(host, args))
    except NotConnected as problem:
        raise VerbFailed(f"{problem} Nothing was changed.") from problem
    return ended(end if isinstance(end, int) else _in_another(end, args))


async def _attach(host: VerbHost, args: AttachedWindow) -> "int | OtherSession":
    directory = user_directory(host.env) / DIRECTORY
    running = await find_running(directory, args.session, host.cwd.resolve())
    if args.json:
        return await _pass_lines_on(directory, running.id)
    # From now on this window speaks for the user, so nothing that it starts may.
    session, _ = await enter(directory, running.id, CLIENT)
    mark_this_process()
    end = await show(directory, session, shown_elsewhere(running), running.id, plain=args.plain)
    if isinstance(end, SessionWanted):
        return OtherSession(end.session_id, running.hello.cwd)
    return end if isinstance(end, int) else 0


async def show(
    directory: Path, session: RemoteSession, shown: ShownSession, session_id: str, *, plain: bool
) -> int | NextStep:
    """Show a session until the user leaves or it ends; if another process continues it, show that."""
    while True:
        try:
            end = await converse(AttachedSession(session), shown, None, plain=plain)
        finally:
            has_ended = session.has_ended
            await session.close()
        is_own = isinstance(end, SessionWanted) and end.session_id == session_id
        if not (has_ended or is_own):
            break
        again = await enter_again(directory, session_id, CLIENT)
        if again is None:
            print(f"The session {session_id} was closed. To resume it: robota --resume {session_id}")
            return end
        session, shown = again[0], msgspec.structs.replace(shown, is_past_shown=True)
    if not isinstance(end, SessionWanted):
        print(f"Left the session {session_id}. To come back: robota attach {session_id}")
    return end


class OtherSession(msgspec.Struct, frozen=True):
    """The session with which the user goes on in this terminal, or a new one, and its directory."""

    session_id: str | None
    cwd: str


class AttachedSession:
    """The session as a window has it: leaving the terminal is leaving the window."""

    def __init__(self, session: RemoteSession) -> None:
        self._session = session

    async def submit(self, command: Command) -> Receipt:
        if isinstance(command, RunSlashCommand) and typed_command(command.line) == TypedCommand("detach", ""):
            return Accepted(request_id=command.request_id, outcome=SessionDetached())
        return await self._session.submit(command)

    def events(self) -> AsyncIterator[Event]:
        return self._session.events()


def shown_elsewhere(running: RunningSession) -> ShownSession:
    """The session as a window shows it: with the user's own appearance, not with what the workspace configures."""
    cwd = Path(running.hello.cwd)
    return ShownSession(
        cwd=cwd,
        kept_in=cwd,
        model=running.state.model,
        permission_mode=running.state.permission_mode,
        values=load_settings(None, os.environ).values,
    )


def _in_another(wanted: OtherSession, args: AttachedWindow) -> int:
    """Go on in this terminal with a session of its own; the one that was shown goes on without it."""
    from robota.cli.run.prompt import run

    resumed = () if wanted.session_id is None else ("--resume", wanted.session_id)
    return run(("--cwd", wanted.cwd, *resumed, *(("--plain",) if args.plain else ())))


async def _pass_lines_on(directory: Path, session_id: str) -> int:
    from_session, to_session = await door_streams(directory, session_id)
    from_user, to_user = await standard_streams()

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while chunk := await source.read(CHUNK_BYTES):
                target.write(chunk)
                await target.drain()
        except OSError:
            return  # nobody reads any more

    copying = [asyncio.create_task(copy(from_user, to_session)), asyncio.create_task(copy(from_session, to_user))]
    await asyncio.wait(copying, return_when=asyncio.FIRST_COMPLETED)
    if copying[0].done():
        to_session.write_eof()
        await copying[1]
    to_user.close()
    await to_user.wait_closed()
    return 0


FAMILY: Final = Family(
    name="attach",
    about="Open another window on a running session.",
    main=ShellVerb("attach", "", AttachedWindow, attach, reason="it is another window on a session"),
)
