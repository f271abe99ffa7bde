"""The verb `stop`: end a running session, which can be resumed later."""

from typing import Annotated, Final

import msgspec

from robota.commands.families.running.ps import IN_A_SHELL
from robota.commands.verb import FAILED, Answer, Family, ShellVerb, always, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Positional
from robota.config.paths import user_directory
from robota.protocol.connection.lines import StopSession
from robota.transport.doors import DIRECTORY
from robota.transport.entering import enter
from robota.transport.remote_session import NotConnected
from robota.transport.running_sessions import find_running

CLIENT: Final = "robota stop"


class StoppedSession(msgspec.Struct, frozen=True, kw_only=True):
    """Which session ends."""

    session: Annotated[str, Positional("SESSION", "id, id prefix or name")]


async def _stop(host: VerbHost, args: StoppedSession) -> Answer:
    """Let its process close it, and wait for that. Other sessions of the same process go on."""
    directory = user_directory(host.env) / DIRECTORY
    running = await find_running(directory, args.session, host.cwd)
    session, _ = await enter(directory, running.id, CLIENT)
    try:
        await session.submit(StopSession())
        async for _ in session.events():
            pass
    finally:
        await session.close()
    text = f"The session {running.id} was closed. To resume it: robota --resume {running.id}"
    return told(text, {"sessionId": running.id, "stopped": True})


FAMILY: Final = Family(
    name="stop",
    about="End a running session. It can be resumed.",
    problems=(NotConnected,),
    explain=always(FAILED),
    main=ShellVerb("stop", "", StoppedSession, _stop, reason=IN_A_SHELL),
)
