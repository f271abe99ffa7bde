"""Keeps a session running without a terminal, until it is stopped or has been unused for a while."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Final

from robota.app.session import OpenSession
from robota.clients.terminal.signals import signals_to
from robota.config.errors import ConfigError
from robota.protocol.connection.message_processor import MessageProcessor
from robota.protocol.state import AgentState
from robota.serving.door import Door
from robota.serving.own_socket import listening_at

STANDARD_STREAMS: Final = (0, 1, 2)
MINUTE_S: Final = 60.0


def leave_terminal() -> None:
    """Stop using the standard streams: nobody reads them, and the terminal may have gone."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in STANDARD_STREAMS:
        os.dup2(nothing, stream)
    os.close(nothing)


async def stay_at(path: Path, opened: OpenSession, door: Door | None) -> int:
    """The same for a session that clients reach at a path of the user. Raises `ConfigError`."""
    if door is None:
        raise ConfigError(f"Without a door, nobody can be let in at {path}. The session was closed.")
    with listening_at(path) as listening:
        door.also_at(listening)
        sys.stdout.write(f"{path}\n")
        sys.stdout.flush()
        return await stay(opened, door)


async def stay(opened: OpenSession, door: Door | None) -> int:
    """Return the exit code when a signal ends the process, or it has been idle without a window for that long."""
    stopped = asyncio.Event()

    def take(number: signal.Signals) -> None:
        if number is not signal.SIGHUP:  # there is no terminal left that could hang up
            stopped.set()

    idle_s = opened.settings.values.detached_idle_minutes * MINUTE_S
    with signals_to(take):
        ends = {asyncio.create_task(stopped.wait()), asyncio.create_task(_until_not_needed(opened, door, idle_s))}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
    return 0


async def _until_not_needed(opened: OpenSession, door: Door | None, idle_s: float) -> None:
    """Return when the agent has been idle for this long, has no open question, and no window is attached."""
    processor, events = MessageProcessor(), opened.session.events()
    event = asyncio.ensure_future(anext(events, None))
    while True:
        await asyncio.wait({event}, timeout=idle_s if _is_at_rest(opened, processor) else None)
        if not event.done():
            if door is None or not door.windows:
                event.cancel()
                return
            continue
        arrived = event.result()
        if arrived is None:
            return
        for _ in processor.process(arrived):
            pass
        event = asyncio.ensure_future(anext(events, None))


def _is_at_rest(opened: OpenSession, processor: MessageProcessor) -> bool:
    """A session with an open question keeps running, however long the answer takes."""
    return opened.session.is_idle and processor.store.agent_state.state is not AgentState.WAITING_FOR_INPUT
