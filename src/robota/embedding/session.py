"""`AgentSession`: a session as a program uses it, wherever it runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final
from weakref import WeakSet

import msgspec

from robota.clients.headless.tally import Tally
from robota.embedding.turn import TurnResult, answered_at_once, finished, refused, waiting
from robota.protocol.asks.answer import Answer, Say
from robota.protocol.commands import (
    AskResponse,
    CancelTask,
    Command,
    NewTask,
    QueueMessage,
    Receipt,
    Refused,
    RunSlashCommand,
)
from robota.protocol.connection.ask_dispatcher import AskDispatcher, AskHandler
from robota.protocol.connection.client_events import TaskCleared, WaitingForInput
from robota.protocol.connection.message_processor import MessageProcessor
from robota.protocol.connection.state_store import StateStore, UnansweredAsk
from robota.protocol.events import Event, MessageCreated, SessionState, State, SubscriptionEnded, TaskEnded
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import CommandStarted, typed_command
from robota.protocol.state import AgentState

# No more events are taken from the session while this many are waiting to be read.
MAX_UNREAD: Final = 10_000
STOPPED: Final = frozenset({AgentState.IDLE, AgentState.RESUMABLE})
NOTHING_ASKED: Final = Refused(code="stale_ask", message="The agent is not asking anything. Nothing was changed.")


class SessionEnded(ConnectionError):
    """The session has ended, or the connection to it was lost."""


class _Stopped:
    """The agent has stopped: it waits for the next prompt, or there is no task any more."""


class _Ended:
    """There will be no more events."""


_Item = Event | UnansweredAsk | _Stopped | _Ended | Exception
_Reader = asyncio.Queue[_Item]


class AgentSession:
    """A session in this process, in a child process or behind a socket: the result of `open_session` and the like.

    `store` contains the current state of the session.
    """

    def __init__(self, port: SessionPort, on_ask: AskHandler | None = None) -> None:
        self._port = port
        self._processor = MessageProcessor()
        self._tally = Tally()
        self._dispatcher = None if on_ask is None else AskDispatcher(self.store, port.submit, on_ask)
        self._readers: WeakSet[_Reader] = WeakSet()  # iterators that are no longer used are removed
        self._state: SessionState | None = None
        self._seq = 0
        self._answering: set[asyncio.Task[None]] = set()
        self._first = asyncio.Event()
        self._following = asyncio.create_task(self._follow())

    @property
    def store(self) -> StateStore:
        """The rows of the task, the state of the agent, the current mode and the pending ask."""
        return self._processor.store

    @property
    def id(self) -> str:
        """The id of the session, by which it can be resumed, too."""
        return self._tally.session_id

    @property
    def pending(self) -> UnansweredAsk | None:
        """The ask that the agent is waiting on.

        After it has answered a prompt, that is the question of what to do next.
        """
        return self.store.pending

    async def submit(self, command: Command) -> Receipt:
        """Send any command of the protocol. A refusal changes nothing."""
        return await self._port.submit(command)

    async def cancel(self) -> Receipt:
        """Interrupt the agent. Its work so far is kept, and the next prompt continues the task."""
        return await self._port.submit(CancelTask())

    async def run(self, said: str | Answer, images: tuple[str, ...] = ()) -> TurnResult:
        """Like `stream`, but returns only the result."""
        async for each in self.stream(said, images):
            if isinstance(each, TurnResult):
                return each
        raise AssertionError("a turn ends with its result")

    async def stream(self, said: str | Answer, images: tuple[str, ...] = ()) -> AsyncIterator[Event | TurnResult]:
        """Send a prompt, a slash command or the answer to the pending ask; yields the events, and finally the result.

        The turn ends when the agent has stopped, or waits for an answer that `on_ask` does not give. If the agent is
        working, a prompt is queued. Raises `SessionEnded`, and what `on_ask` raised.
        """
        reader = self._new_reader()
        try:
            receipt = await self._send(said, images)
            if isinstance(receipt, Refused):
                yield refused(receipt, self._tally)
                return
            if receipt.outcome is not None and not isinstance(receipt.outcome, CommandStarted):
                yield answered_at_once(receipt.outcome, self._tally)
                return
            async for each in self._turn(reader):
                yield each
        finally:
            self._forget(reader)

    def events(self) -> AsyncIterator[Event]:
        """All events from now on, starting with a full `state`, until the session ends."""
        reader = self._new_reader()
        if self._state is not None:
            now = {"cline_messages": tuple(self.store.messages), "mode": self.store.current_mode}
            reader.put_nowait(State(seq=self._seq, state=msgspec.structs.replace(self._state, **now)))
        return self._events_in(reader)

    async def until_open(self) -> None:
        """Return when the state of the session is known. Raises `SessionEnded`."""
        opened = asyncio.create_task(self._first.wait())
        await asyncio.wait({opened, self._following}, return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            opened.cancel()
            raise SessionEnded("The session ended before it began.")

    async def close(self) -> None:
        """Stop following the session. It is closed by whatever opened it."""
        for task in (self._following, *self._answering):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _events_in(self, reader: _Reader) -> AsyncIterator[Event]:
        try:
            while not isinstance(item := await reader.get(), _Ended):
                if isinstance(item, Exception):
                    raise item
                if not isinstance(item, UnansweredAsk | _Stopped):
                    yield item
        finally:
            self._forget(reader)

    async def _turn(self, reader: _Reader) -> AsyncIterator[Event | TurnResult]:
        prompt: MessageCreated | None = None
        while True:
            match item := await reader.get():
                case _Stopped():
                    yield finished(self.store.messages, None if prompt is None else prompt.message.ts, self._tally)
                    return
                case UnansweredAsk():
                    yield waiting(item, self._tally)
                    return
                case _Ended():
                    raise SessionEnded("The session ended, or the connection to it was lost, before the turn ended.")
                case Exception():
                    raise item
                case _:
                    prompt = item if prompt is None and isinstance(item, MessageCreated) else prompt
                    yield item
                    if isinstance(item, TaskEnded) and prompt is not None and item.task_id == prompt.task_id:
                        yield finished(self.store.messages, prompt.message.ts, self._tally)
                        return

    async def _send(self, said: str | Answer, images: tuple[str, ...]) -> Receipt:
        pending = self.pending
        if not isinstance(said, str):
            return NOTHING_ASKED if pending is None else await self._answer(said, pending)
        if typed_command(said) is not None:
            return await self._port.submit(RunSlashCommand(line=said, as_prompt=True))
        if pending is not None:
            return await self._answer(Say(text=said, images=images), pending)
        if self.store.agent_state.is_running:
            receipt = await self._port.submit(QueueMessage(text=said, images=images))
            if not (isinstance(receipt, Refused) and receipt.code == "no_active_task"):
                return receipt
        return await self._port.submit(NewTask(text=said, images=images))

    async def _answer(self, answer: Answer, pending: UnansweredAsk) -> Receipt:
        return await self._port.submit(AskResponse(answer=answer, ts=pending.ts))

    def _new_reader(self) -> _Reader:
        """A queue of all events from now on."""
        reader: _Reader = asyncio.Queue(MAX_UNREAD)
        self._readers.add(reader)
        if self._following.done():
            reader.put_nowait(_Ended())
        return reader

    def _forget(self, reader: _Reader) -> None:
        self._readers.discard(reader)
        while not reader.empty():  # wakes up `put` calls that wait for room
            reader.get_nowait()

    async def _follow(self) -> None:
        try:
            while True:
                last: Event | None = None
                async for last in self._port.events():
                    await self._take(last)
                if not isinstance(last, SubscriptionEnded):
                    return  # otherwise this program was too slow, and continues from the current state
        except Exception as error:  # noqa: BLE001 - a boundary: whoever reads must learn of it
            await self._put_to_readers(error)
        finally:
            for reader in tuple(self._readers):
                if reader.full():
                    reader.get_nowait()
                reader.put_nowait(_Ended())

    async def _take(self, event: Event) -> None:
        if (count := self._tally.handlers.get(type(event))) is not None:
            count(event)
        self._seq = event.seq
        if isinstance(event, State):
            self._state = event.state
        told = tuple(self._processor.process(event))
        self._first.set()
        await self._put_to_readers(event)
        if any(isinstance(each, TaskCleared) for each in told):
            await self._put_to_readers(_Stopped())
        elif any(isinstance(each, WaitingForInput) for each in told) and (pending := self.pending) is not None:
            await (self._put_to_readers(_Stopped()) if self.store.agent_state.state in STOPPED else self._ask(pending))

    async def _ask(self, pending: UnansweredAsk) -> None:
        if self._dispatcher is None:
            await self._put_to_readers(pending)
            return
        task = asyncio.create_task(self._let_answer(self._dispatcher, pending))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _let_answer(self, dispatcher: AskDispatcher, pending: UnansweredAsk) -> None:
        try:
            if await dispatcher.dispatch() is None:
                await self._put_to_readers(pending)
        except Exception as error:  # noqa: BLE001 - raised again where the turn is followed
            await self._put_to_readers(error)

    async def _put_to_readers(self, item: _Item) -> None:
        for reader in tuple(self._readers):
            await reader.put(item)
