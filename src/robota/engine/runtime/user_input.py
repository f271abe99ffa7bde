"""Input of the user: answers to open asks (`AskTable`), queued messages (`MessageQueue`), and `UserInput` itself."""

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
    """Whether a queued message may answer the ask: never an approval, and never the question of an MCP server."""
    return isinstance(asked, QuestionAsk | CompletionAsk) and not isinstance(asked, ElicitationAsk)


class PendingAsk(msgspec.Struct, frozen=True, kw_only=True):
    """An open ask. With `takes_commands` a command can interrupt it, after which it is asked again."""

    message: Message
    future: asyncio.Future[Answer | CondenseContext]
    takes_commands: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether it has an answer that the task has not processed yet."""
        return self.future.done()


class ResumedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an ask, `row`, that an earlier process left open. Its call passes policy again first.

    `is_approval` says that the ask was whether the call may run, and not a question that the running call asked.
    """

    row: Message
    answer: Answer
    is_approval: bool


class AskTable:
    """The open asks; more than one only if tasks are nested. The first valid answer wins."""

    def __init__(self) -> None:
        self._pending: dict[int, PendingAsk] = {}
        self._about_output: set[int] = set()

    def show_output(self, ts: int) -> None:
        """Register the ask `ts` about a running command. It may be answered, but nothing waits for the answer."""
        self._about_output.add(ts)

    def end_output(self, ts: int) -> None:
        """Remove the ask `ts`, because its command has ended."""
        self._about_output.discard(ts)

    def is_about_output(self, ts: int | None) -> bool:
        """Whether an answer to the ask `ts`, or one without a `ts`, is meant for a running command."""
        return ts in self._about_output if ts is not None else self.newest is None and bool(self._about_output)

    @property
    def newest(self) -> PendingAsk | None:
        return next(reversed(self._pending.values()), None)

    async def wait(self, message: Message) -> Answer:
        """Wait for the answer to this ask. However the wait ends, the ask is then no longer answerable."""
        answer = await self.wait_for_answer_or_command(message, takes_commands=False)
        assert not isinstance(answer, CondenseContext)
        return answer

    async def wait_for_answer_or_command(self, message: Message, *, takes_commands: bool) -> Answer | CondenseContext:
        """Wait for the answer, or with `takes_commands` for a command that comes instead."""
        future: asyncio.Future[Answer | CondenseContext] = asyncio.get_running_loop().create_future()
        self._pending[message.ts] = PendingAsk(message=message, future=future, takes_commands=takes_commands)
        try:
            return await future
        finally:
            self._pending.pop(message.ts, None)

    def answer(self, command: AskResponse) -> Receipt:
        """Deliver an answer to the ask that it names, or refuse it and change nothing."""
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
        return "No question is open; the answer was ignored."
    return f"The ask {ts} is not pending (now pending: {newest.message.ts}); the answer was ignored."


class MessageQueue:
    """Messages typed while the agent was busy, first in, first out. Every change is logged, so it survives a crash."""

    def __init__(self, journal: Journal, on_change: Callable[[tuple[QueuedMessage, ...]], None]) -> None:
        self._journal = journal
        self._on_change = on_change
        self._entries: tuple[QueuedMessage, ...] = ()
        self._commands_of_log: frozenset[str] = frozenset()

    def restore(self, waiting: Sequence[QueuedMessage]) -> None:
        """Restore the queue of an earlier process from the log."""
        self._entries = tuple(waiting)
        self._commands_of_log = frozenset(entry.text for entry in waiting if entry.is_command)

    def is_from_log(self, command: str) -> bool:
        """Whether this shell command comes from the log, which anybody could have written, so it needs approval."""
        return command in self._commands_of_log

    @property
    def entries(self) -> tuple[QueuedMessage, ...]:
        return self._entries

    def add(self, message: QueueMessage) -> Receipt:
        if not message.text.strip() and not message.images:
            return Refused(code="empty_message", message="There is nothing to queue: no text and no image.")
        ts = self._journal.next_ts()
        entry = QueuedMessage(
            id=f"q{ts}",
            timestamp=ts,
            text=message.text,
            images=message.images,
            after_turn=message.after_turn,
            is_command=message.is_command,
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
        """Remove and return the oldest entry that is due; `is_turn_over` also takes entries for the end of the turn."""
        first = next((entry for entry in self._entries if is_turn_over or not entry.after_turn), None)
        if first is not None:
            self._set(tuple(entry for entry in self._entries if entry is not first))
        return first

    def _set(self, entries: tuple[QueuedMessage, ...]) -> None:
        self._entries = entries
        self._journal.write(QueueRecord(queue=entries))
        self._on_change(entries)


def _not_waiting(id: str) -> Refused:
    return Refused(code="not_queued", message=f"There is no queued message {id}: it was already sent or removed.")


class UserInput(msgspec.Struct, frozen=True, kw_only=True):
    """Text and images for the model. With `is_command` it is a shell command, whose output the model gets."""

    text: str
    images: tuple[str, ...] = ()
    is_prompt: bool = True  # typed by the user, not generated by a parent task or a resumption
    is_command: bool = False

    @property
    def as_typed(self) -> str:
        """The text as the conversation shows it."""
        return f"!{self.text}" if self.is_command else self.text


def input_from(source: Answer | QueuedMessage) -> UserInput:
    """The input in an answer or a queued message."""
    is_command = isinstance(source, Say | QueuedMessage) and source.is_command
    return UserInput(text=source.text, images=source.images, is_command=is_command)
