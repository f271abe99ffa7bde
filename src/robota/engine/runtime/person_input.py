"""What a person has to say: asks that wait for their answer, and messages that wait until the agent is ready."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from robota.engine.record.journal import Journal
from robota.log.kinds.session import QueueRecord
from robota.protocol.asks.answer import Answer
from robota.protocol.asks.seed import UnknownResponse, answer_in
from robota.protocol.commands import Accepted, AskResponse, CondenseContext, Receipt, Refused
from robota.protocol.message import Message, QueuedMessage


class PendingAsk(msgspec.Struct, frozen=True, kw_only=True):
    """An ask that waits. `takes_commands` if it can be interrupted by a command, after which it is asked again."""

    message: Message
    future: asyncio.Future[Answer | CondenseContext]
    takes_commands: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether something has come for it that the task has not taken yet."""
        return self.future.done()


class GivenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a person answered to an ask, `row`, that an earlier process left open; the call is judged again first.

    `is_about_running` says that the question was whether the call may run, and not one that it asked while it ran.
    """

    row: Message
    answer: Answer
    is_about_running: bool


class AskTable:
    """The asks that wait now, more than one only if tasks are nested. The first valid answer wins."""

    def __init__(self) -> None:
        self._pending: dict[int, PendingAsk] = {}
        self._about_output: set[int] = set()

    def show_output(self, ts: int) -> None:
        """The ask `ts` is about a command that goes on by itself: nobody waits for an answer, but one may come."""
        self._about_output.add(ts)

    def end_output(self, ts: int) -> None:
        """The command has ended."""
        self._about_output.discard(ts)

    def is_about_output(self, ts: int | None) -> bool:
        """Whether an answer to the ask `ts`, or one that names none, means a running command."""
        return ts in self._about_output if ts is not None else self.newest is None and bool(self._about_output)

    @property
    def newest(self) -> PendingAsk | None:
        return next(reversed(self._pending.values()), None)

    async def wait(self, message: Message) -> Answer:
        """Wait for the answer to this ask. However the wait ends, the ask is then no longer answerable."""
        answer = await self.wait_or_obey(message, takes_commands=False)
        assert not isinstance(answer, CondenseContext)
        return answer

    async def wait_or_obey(self, message: Message, *, takes_commands: bool) -> Answer | CondenseContext:
        """The same where a command may come instead."""
        future: asyncio.Future[Answer | CondenseContext] = asyncio.get_running_loop().create_future()
        self._pending[message.ts] = PendingAsk(message=message, future=future, takes_commands=takes_commands)
        try:
            return await future
        finally:
            self._pending.pop(message.ts, None)

    def answer(self, command: AskResponse) -> Receipt:
        """Hand an answer to the ask it names, or refuse it and change nothing."""
        try:
            answer = answer_in(command)
        except UnknownResponse as unknown:
            return Refused(code="unknown_response", message=str(unknown))
        pending = self.newest if command.ts is None else self._pending.get(command.ts)
        if pending is None or pending.is_settled:
            return Refused(code="stale_ask", message=_why_stale(command.ts, self.newest))
        pending.future.set_result(answer)
        return Accepted(id=str(pending.message.ts))


def _why_stale(ts: int | None, newest: PendingAsk | None) -> str:
    if ts is None or newest is None:
        return "Nothing is being asked now; the answer changed nothing."
    return f"The ask {ts} is not pending (now pending: {newest.message.ts}); the answer changed nothing."


class MessageQueue:
    """What was typed while the agent was busy, first in, first out. Every change is logged, so it survives a crash."""

    def __init__(
        self,
        journal: Journal,
        changed: Callable[[tuple[QueuedMessage, ...]], None],
        waiting: Sequence[QueuedMessage] = (),
    ) -> None:
        self._journal = journal
        self._changed = changed
        self._entries: tuple[QueuedMessage, ...] = tuple(waiting)

    def restore(self, waiting: Sequence[QueuedMessage]) -> None:
        """Take over what waited in an earlier process; the log knows of it already."""
        self._entries = tuple(waiting)

    @property
    def entries(self) -> tuple[QueuedMessage, ...]:
        return self._entries

    def add(self, text: str, images: tuple[str, ...]) -> Receipt:
        if not text.strip() and not images:
            return Refused(code="empty_message", message="There is nothing to queue: no text and no image.")
        ts = self._journal.next_ts()
        entry = QueuedMessage(id=f"q{ts}", timestamp=ts, text=text, images=images)
        self._set((*self._entries, entry))
        return Accepted(id=entry.id)

    def edit(self, id: str, text: str, images: tuple[str, ...]) -> Receipt:
        if all(entry.id != id for entry in self._entries):
            return _not_waiting(id)
        changed = QueuedMessage(id=id, timestamp=self._journal.next_ts(), text=text, images=images)
        self._set(tuple(changed if entry.id == id else entry for entry in self._entries))
        return Accepted(id=id)

    def remove(self, id: str) -> Receipt:
        if all(entry.id != id for entry in self._entries):
            return _not_waiting(id)
        self._set(tuple(entry for entry in self._entries if entry.id != id))
        return Accepted(id=id)

    def take(self) -> QueuedMessage | None:
        """The oldest entry, now no longer waiting."""
        if not self._entries:
            return None
        first, *rest = self._entries
        self._set(tuple(rest))
        return first

    def _set(self, entries: tuple[QueuedMessage, ...]) -> None:
        self._entries = entries
        self._journal.write(QueueRecord(queue=entries))
        self._changed(entries)


def _not_waiting(id: str) -> Refused:
    return Refused(code="not_queued", message=f"No queued message {id}: it was sent or removed already.")
