"""Input of the user: answers to open asks (`AskTable`), queued messages (`MessageQueue`), and `UserInput` itself."""

import asyncio
from collections.abc import Callable, Sequence
from typing import assert_never

import msgspec

from robota.engine.record.journal import Journal
from robota.log.kinds.session import QueueRecord
from robota.protocol.asks.answer import Answer, Approve, Say
from robota.protocol.asks.ask import (
    ApprovalAsk,
    Ask,
    CompletionAsk,
    ElicitationAsk,
    FailureAsk,
    LimitAsk,
    MistakeKind,
    MistakesAsk,
    QuestionAsk,
    ResumeAsk,
)
from robota.protocol.commands import CondenseContext, EditQueuedMessage, QueueMessage, Refused
from robota.protocol.message import Message, QueuedMessage


def is_answered_by_queue(asked: Ask | None) -> bool:
    """Whether a queued message may answer the ask: never an approval, and never the question of an MCP server."""
    return isinstance(asked, QuestionAsk | CompletionAsk) and not isinstance(asked, ElicitationAsk)


class PendingAsk(msgspec.Struct, frozen=True, kw_only=True):
    """An open ask. With `takes_commands` a command can interrupt it, after which it is asked again."""

    message: Message
    future: asyncio.Future[Answer | CondenseContext]
    takes_commands: bool = False


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
        self._answered: set[int] = set()
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
        """The newest open ask. One whose task was interrupted is open no longer, although the task may not know yet."""
        return next((pending for pending in reversed(self._pending.values()) if not pending.future.done()), None)

    @property
    def has_unread_answer(self) -> bool:
        """Whether a task has an answer, or a command instead of one, that it has not processed yet."""
        return bool(self._answered)

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
            self._answered.discard(message.ts)

    def find(self, ts: int | None) -> PendingAsk | Refused:
        """The open ask `ts`, or the newest; the refusal if it is not open."""
        pending = self.newest if ts is None else self._pending.get(ts)
        is_open = pending is not None and not pending.future.done()
        return (
            pending
            if pending is not None and is_open
            else Refused(code="stale_ask", message=_why_stale(ts, self.newest))
        )

    def settle(self, pending: PendingAsk, answer: Answer | CondenseContext) -> None:
        """Hand over the answer, or the command that comes instead of one. The ask is open no longer."""
        del self._pending[pending.message.ts]
        self._answered.add(pending.message.ts)
        pending.future.set_result(answer)


def ends_turn(asked: Ask | None, answer: Answer) -> bool:
    """Whether the agent stops working with this answer. Only an idle or resumable ask can stop it."""
    match asked:
        case CompletionAsk() | ResumeAsk():
            return ends_task(asked, answer)
        case FailureAsk():
            return not isinstance(answer, Approve) and not (isinstance(answer, Say) and answer.has_words)
        case LimitAsk():
            return not isinstance(answer, Approve)
        case MistakesAsk(mistake=MistakeKind.USELESS_REPLIES):
            return not isinstance(answer, Approve) and not answer.has_words
        case MistakesAsk() | ApprovalAsk() | QuestionAsk() | None:
            return False
        case _:
            assert_never(asked)


def ends_task(asked: Ask | None, answer: Answer) -> bool:
    """Whether a task ends with this answer, and not only its turn."""
    match asked:
        case CompletionAsk():
            return not answer.has_words
        case ResumeAsk():
            return not answer.has_words and (asked.is_completed or not isinstance(answer, Approve))
        case _:
            return False


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

    def find(self, id: str) -> QueuedMessage | Refused:
        """The queued message with this id; the refusal if there is none."""
        found = next((entry for entry in self._entries if entry.id == id), None)
        message = f"There is no queued message {id}: it was already sent or removed."
        return found or Refused(code="not_queued", message=message)

    def add(self, message: QueueMessage) -> QueuedMessage:
        """Add a message at the end."""
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
        return entry

    def edit(self, before: QueuedMessage, change: EditQueuedMessage) -> None:
        """Replace a queued message."""
        changed = msgspec.structs.replace(
            before,
            timestamp=self._journal.next_ts(),
            text=change.text,
            images=change.images,
            after_turn=before.after_turn if change.after_turn is None else change.after_turn,
        )
        self._set(tuple(changed if entry is before else entry for entry in self._entries))

    def remove(self, queued: QueuedMessage) -> None:
        """Remove a queued message."""
        self._set(tuple(entry for entry in self._entries if entry is not queued))

    def take(self, *, is_turn_over: bool = False) -> QueuedMessage | None:
        """Remove and return the oldest entry that is due; `is_turn_over` also takes entries for the end of the turn."""
        first = next((entry for entry in self._entries if is_turn_over or not entry.after_turn), None)
        if first is not None:
            self.remove(first)
        return first

    def _set(self, entries: tuple[QueuedMessage, ...]) -> None:
        self._entries = entries
        self._journal.write(QueueRecord(queue=entries))
        self._on_change(entries)


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
