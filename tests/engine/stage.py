"""A session on a stage: real log, real tools, real files, a scripted model, and a client that answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from robota.app.session import OpenSession, open_session
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.log.chain.reader import load
from robota.log.replay.session import SessionFold, replay
from robota.protocol.asks.kinds import NON_BLOCKING_ASKS
from robota.protocol.commands import Accepted, AskResponse, Command, NewTask, Receipt
from robota.protocol.conversation import ToolResultBlock
from robota.protocol.events import Event, MessageCreated, MessageUpdated, State
from robota.protocol.message import Message
from robota.protocol.state import AgentState, StateTracker

LONGEST_STORY_S = 100  # only a story that fails takes so long
E = TypeVar("E")


def needs_answer(event: Event) -> bool:
    """Whether the session waits for the user from this event on."""
    return isinstance(event, MessageCreated) and event.message.ask not in (None, *NON_BLOCKING_ASKS)


def _asks(event: Event, kind: str) -> bool:
    return isinstance(event, MessageCreated) and event.message.ask == kind


class Stage:
    """One open session and everything seen of it."""

    def __init__(self, opened: OpenSession) -> None:
        self.opened = opened
        self.session = opened.session
        self.seen: list[Event] = []
        self.tracker = StateTracker()
        self._events: AsyncIterator[Event] = self.session.events()

    async def start(self, text: str = "do it", **fields: Any) -> str:
        receipt = await self.session.submit(NewTask(text=text, **fields))
        assert isinstance(receipt, Accepted), receipt
        return receipt.id or ""

    async def until(self, wanted: Callable[[Event], bool]) -> Event:
        """Read events up to one that is wanted."""
        async for event in self._events:
            self._take(event)
            if wanted(event):
                return event
        raise AssertionError("the session ended before the event came")

    async def until_ask(self, kind: str) -> Message:
        """Read events until this is asked. The offer to stop a slow tool may come before, and needs no answer."""
        event = await self.until(lambda e: needs_answer(e) or _asks(e, kind))
        assert isinstance(event, MessageCreated)
        assert event.message.ask == kind, f"asked {event.message.ask}: {event.message.text}"
        return event.message

    async def answer(self, response: str, text: str | None = None, ts: int | None = None) -> Receipt:
        return await self.submit(AskResponse(ask_response=response, text=text, ts=ts))

    async def submit(self, command: Command) -> Receipt:
        return await self.session.submit(command)

    @property
    def rows(self) -> Sequence[Message]:
        return self.tracker.messages

    @property
    def state(self) -> AgentState:
        return self.tracker.info.state

    def says(self, kind: str) -> list[str]:
        return [row.text or "" for row in self.rows if row.say == kind]

    def events_of(self, kind: type[E]) -> list[E]:
        return [event for event in self.seen if isinstance(event, kind)]

    def logged(self) -> SessionFold:
        """What the log alone tells."""
        return replay(load(self.opened.log.path).records)

    def _take(self, event: Event) -> None:
        self.seen.append(event)
        if isinstance(event, State):
            self.tracker.replace(event.state.cline_messages)
        elif isinstance(event, MessageCreated):
            self.tracker.created(event.message)
        elif isinstance(event, MessageUpdated):
            self.tracker.updated(event.message)


def play(
    workspace: Path,
    turns: Sequence[Any],
    story: Callable[[Stage], Awaitable[None]],
    *,
    profile_options: dict[str, Any] | None = None,
    tells_environment: bool = False,
    **launch: Any,
) -> None:
    """Open a session whose model follows `turns`, let the story happen, and close it.

    Its model is told words alone, unless it shall be told its surroundings, too.
    """
    env = {"ROBOTA_HOME": str(workspace.parent / "robota-home"), "ROBOTA_ENVIRONMENT": str(int(tells_environment))}
    options = {"turns": list(turns), "retry": {"baseMs": 1, "maxRetries": 3}, **(profile_options or {})}
    profile = Profile(type="scripted", name="script", model="scripted", options=options)

    async def run() -> None:
        wish = LaunchOptions(cwd=workspace, profile=profile, **launch)
        opened = open_session(wish, env)
        try:
            async with asyncio.timeout(LONGEST_STORY_S):
                await story(Stage(opened))
        finally:
            await opened.close()

    asyncio.run(run())


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def tool_results(stage: Stage) -> list[ToolResultBlock]:
    """Every tool result in the history of the current task, as the log has it."""
    task = stage.logged().current
    assert task is not None
    blocks = [block for turn in task.conversation().turns for block in turn.content]
    return [block for block in blocks if isinstance(block, ToolResultBlock)]
