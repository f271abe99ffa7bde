"""What a person has to say: asks that wait for their answer, and messages that wait until the agent is ready."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from robota.engine.record.journal import Journal
from robota.log.kinds.session import QueueRecord
from robota.protocol.asks.answer import Answer, Say
from robota.protocol.asks.ask import Ask, CompletionAsk, ElicitationAsk, QuestionAsk
from robota.protocol.asks.seed import UnknownResponse, answer_in
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    CondenseContext,
    EditQueuedMessage,
    QueueMessage,
    Receipt,
    Refused,
)
from robota.protocol.message import Message, QueuedMessage


def is_answered_by_queue(asked: Ask | None) -> bool:
    """Whether a queued message may answer it: never a request for permission, and never a server elsewhere."""
    return isinstance(asked, QuestionAsk | CompletionAsk) and not isinstance(asked, ElicitationAsk)


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
        self._commands_of_log: frozenset[str] = frozenset()

    def restore(self, waiting: Sequence[QueuedMessage]) -> None:
        """Take over what waited in an earlier process; the log knows of it already."""
        self._entries = tuple(waiting)
        self._commands_of_log = frozenset(entry.text for entry in waiting if entry.is_command)

    def only_log_says_typed(self, command: str) -> bool:
        """Whether nobody typed this command here: anybody can write a log, so that it is asked about."""
        return command in self._commands_of_log

    @property
    def entries(self) -> tuple[QueuedMessage, ...]:
        return self._entries

    def add(self, wanted: QueueMessage) -> Receipt:
        if not wanted.text.strip() and not wanted.images:
            return Refused(code="empty_message", message="There is nothing to queue: no text and no image.")
        ts = self._journal.next_ts()
        entry = QueuedMessage(
            id=f"q{ts}",
            timestamp=ts,
            text=wanted.text,
            images=wanted.images,
            after_turn=wanted.after_turn,
            is_command=wanted.is_command,
        )
        self._set((*self._entries, entry))
        return Accepted(id=entry.id)

    def edit(self, change: EditQueuedMessage) -> Receipt:
        before = next((entry for entry in self._entries if entry.id == change.id), None)
        if before is None:
            return _not_waiting(change.id)
        changed = msgspec.structs.replace(
            before,
            timestamp=self._journal.next_ts(),
            text=change.text,
            images=change.images,
            after_turn=before.after_turn if change.after_turn is None else change.after_turn,
        )
        self._set(tuple(changed if entry is before else entry for entry in self._entries))
        return Accepted(id=change.id)

    def remove(self, id: str) -> Receipt:
        if all(entry.id != id for entry in self._entries):
            return _not_waiting(id)
        self._set(tuple(entry for entry in self._entries if entry.id != id))
        return Accepted(id=id)

    def take(self, *, is_turn_over: bool = False) -> QueuedMessage | None:
        """The oldest entry whose time has come, now no longer waiting."""
        first = next((entry for entry in self._entries if is_turn_over or not entry.after_turn), None)
        if first is not None:
            self._set(tuple(entry for entry in self._entries if entry is not first))
        return first

    def _set(self, entries: tuple[QueuedMessage, ...]) -> None:
        self._entries = entries
        self._journal.write(QueueRecord(queue=entries))
        self._changed(entries)


def _not_waiting(id: str) -> Refused:
    return Refused(code="not_queued", message=f"No queued message {id}: it was sent or removed already.")


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What was said. If it `is_command`, it is run, and the model is shown its output."""

    text: str
    images: tuple[str, ...] = ()
    is_prompt: bool = True  # rather than the order of another task, or ours to go on
    is_command: bool = False

    @property
    def as_typed(self) -> str:
        """As the conversation shows it."""
        return f"!{self.text}" if self.is_command else self.text


def words_in(said: Answer | QueuedMessage) -> Words:
    """What is said in an answer, or in what was queued."""
    is_command = isinstance(said, Say | QueuedMessage) and said.is_command
    return Words(text=said.text, images=said.images, is_command=is_command)
