"""Serve one session to the program that started this process, over standard input and output."""

import asyncio
import os
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from robota.app.session import OpenSession
from robota.clients.terminal.signals import signals_to
from robota.commands.session_commands import with_commands
from robota.commands.speaking import SpokenFor, speaker_of
from robota.log.chain.writer import wall_clock_ms
from robota.log.kinds.calls import AnsweredBy
from robota.protocol.connection.lines import EventForm
from robota.protocol.connection.message_processor import MessageProcessor
from robota.protocol.state import AgentState
from robota.serving.greeting import greeting_of
from robota.serving.standard_streams import standard_streams
from robota.transport.served_stream import ConnectionEnd, ServedStream

CLIENT: Final = "robota serve"


class AtEnd(StrEnum):
    """What happens to a running task when the client closes its end."""

    FINISH = "finish"
    PAUSE = "pause"


class StdioOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a session is served over standard streams. Without `form`, the first line of the client determines it."""

    form: EventForm | None = None
    at_end: AtEnd = AtEnd.FINISH


async def serve_stdio(
    opened: OpenSession, env: Mapping[str, str], options: StdioOptions, on_leaving: Callable[[], None] = lambda: None
) -> None:
    """Serve the session until the client leaves, then call `on_leaving`, close it and send the remaining events."""
    parent = speaker_of(os.getppid(), CLIENT)  # it has the other end of the streams

    def speaker() -> AnsweredBy:
        return msgspec.structs.replace(parent, client=client.client or CLIENT)

    port = SpokenFor(with_commands(opened, env, CLIENT), speaker)
    reader, writer = await standard_streams()
    client = ServedStream(port, reader, writer, hello=greeting_of(opened, wall_clock_ms()), form=options.form)
    stopped = asyncio.Event()
    with signals_to(lambda signal_: stopped.set()):
        serving = asyncio.create_task(client.run())
        leaving = asyncio.create_task(stopped.wait())
        await asyncio.wait({serving, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done() and serving.result() is ConnectionEnd.INPUT_ENDED and options.at_end is AtEnd.FINISH:
            await client.until_answered()
            finishing = asyncio.create_task(_until_it_waits(opened))
            await asyncio.wait({finishing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finishing.cancel()
        serving.cancel()
        leaving.cancel()
        on_leaving()
        await opened.close()
        await client.finish()


async def _until_it_waits(opened: OpenSession) -> None:
    """Return when the agent waits for an answer, or has finished."""
    processor = MessageProcessor()
    async for event in opened.session.events():
        for _ in processor.process(event):
            pass
        if opened.session.is_idle or processor.store.agent_state.state is AgentState.WAITING_FOR_INPUT:
            return
