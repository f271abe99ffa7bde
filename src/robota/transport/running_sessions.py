"""The running sessions of this user, as they describe themselves."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.protocol.asks.kinds import NOTHING_TO_DO_ASKS
from robota.protocol.connection.lines import ServerHello
from robota.protocol.events import Event, SessionState, State, TaskTokenUsageUpdated
from robota.protocol.message import Message
from robota.protocol.seed_calls import CALL_ASKS, CALL_SAYS, title_in
from robota.protocol.state import AgentStateInfo, detect_agent_state, is_request_row
from robota.transport.doors import door_ids
from robota.transport.entering import enter
from robota.transport.remote_session import NotConnected, Unreachable

# Its first request may just have begun.
USAGE_S: Final = 0.5
CLIENT: Final = "robota ps"
ACTIONS: Final = {"api_req_started": "waits for the model", "reasoning": "thinks", "text": "answers"}


class RunningSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session and its current state."""

    hello: ServerHello
    state: SessionState
    info: AgentStateInfo
    cost: float | None = None  # in US dollars; None if it is unknown, or nothing was asked of the model yet

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.hello.session_id

    @property
    def title(self) -> str:
        """Its name, or its first words."""
        return self.state.name or next((row.text or "" for row in self.state.cline_messages), "")

    @property
    def waiting(self) -> Message | None:
        """The ask that the user is to answer: that of its task, unless it is at rest while an agent asks."""
        last = self.state.cline_messages[-1] if self.state.cline_messages else None
        own = last if last is not None and self.info.current_ask is not None else None
        if own is not None and own.ask not in NOTHING_TO_DO_ASKS:
            return own
        beside = (task for task in self.state.open_tasks if task.task_id != self.state.current_task_id)
        return min((ask for task in beside for ask in task.asks), key=lambda ask: ask.ts, default=own)

    @property
    def action(self) -> str:
        """What it does now, in a few words; empty if it does nothing."""
        rows = self.state.cline_messages
        last = rows[-1] if rows else None
        if last is None or not self.info.is_running or self.waiting is not None:
            return ""
        if last.ask in CALL_ASKS or last.say in CALL_SAYS:
            return title_in(last)
        return ACTIONS.get(last.say or "", "works")


class NoSuchSession(NotConnected):
    """No running session matches, or several do; the message lists them."""


class RunningNow(msgspec.Struct, frozen=True, kw_only=True):
    """All running sessions with a door, the oldest first. `unreachable` says of each other one why it is not known."""

    sessions: list[RunningSession]
    unreachable: list[Unreachable]


async def running_sessions(directory: Path, *, besides: Collection[str] = ()) -> RunningNow:
    """Look at all sessions that run. Doors of sessions that have ended are removed."""
    ids = [each for each in door_ids(directory) if each not in besides]
    seen = await asyncio.gather(*(look_at(directory, each) for each in ids), return_exceptions=True)
    running = [each for each in seen if isinstance(each, RunningSession)]
    running.sort(key=lambda each: each.hello.since_ms)
    return RunningNow(sessions=running, unreachable=[each for each in seen if isinstance(each, Unreachable)])


async def look_at(directory: Path, session_id: str) -> RunningSession:
    """The current state of one session. Raises `NotConnected`."""
    session, hello = await enter(directory, session_id, CLIENT)
    try:
        events = session.events()
        async for event in events:
            if isinstance(event, State):
                info = detect_agent_state(event.state.cline_messages)
                cost = await _cost(events) if any(map(is_request_row, event.state.cline_messages)) else None
                return RunningSession(hello=hello, state=event.state, info=info, cost=cost)
    finally:
        await session.close()
    raise NotConnected(f"The session {session_id} has just ended.")


async def _cost(events: AsyncIterator[Event]) -> float | None:
    """What the task has cost so far: a session that has made requests says so after its state."""
    with suppress(TimeoutError, StopAsyncIteration):
        async with asyncio.timeout(USAGE_S):
            event = await anext(events)
            return event.token_usage.total_cost if isinstance(event, TaskTokenUsageUpdated) else None
    return None


async def find_running(directory: Path, name: str | None, cwd: Path) -> RunningSession:
    """The running session with this id, id prefix or name; without one, the only one, or the only one of `cwd`.

    Raises `NotConnected`.
    """
    now = await running_sessions(directory)
    running = now.sessions
    if name is not None:
        matching = [each for each in running if each.id == name] or _named(running, name)
    else:
        here = [each for each in running if Path(each.hello.cwd) == cwd]
        matching = here if len(here) == 1 else running
    match matching:
        case [session]:
            return session
        case []:
            # The doors of sessions that have ended were removed, so this session runs but refuses us, and says why.
            for door in door_ids(directory):
                if name is not None and door.startswith(name):
                    return await look_at(directory, door)
            problem = "No session is running." if name is None else f"No running session is called {name}."
            raise NoSuchSession(" ".join((problem, *map(str, now.unreachable), _running_list(running))).rstrip())
        case _:
            raise NoSuchSession(f"Several sessions match. {_running_list(matching)}")


def _named(running: Sequence[RunningSession], name: str) -> list[RunningSession]:
    return [each for each in running if each.id.startswith(name) or each.state.name == name]


def _running_list(running: Sequence[RunningSession]) -> str:
    return "" if not running else "Running: " + ", ".join(f"{each.id} in {each.hello.cwd}" for each in running) + "."
