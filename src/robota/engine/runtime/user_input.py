"""Input of the user: answers to open asks (`AskTable`), queued messages (`MessageQueue`), and `UserInput` itself."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, assert_never

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
    PlanAsk,
    QuestionAsk,
    ResumeAsk,
)
from robota.protocol.commands import CondenseContext, EditQueuedMessage, NewTask, QueueMessage, Refused
from robota.protocol.message import Message, QueuedMessage
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.log.kinds.calls import AnsweredBy

MAX_ASK_SHOWN: Final = 60
MAX_ASKS_FOR_ONE_CAUSE: Final = 2
ASKED_ENOUGH: Final = (
    "The user has already been asked about this and is not asked again in this session. Find another way."
)
ALLOWED_BEFORE: Final = (
    "The user has allowed this twice, each time for one command, and is not asked again by itself. If it is still "
    "needed, make the call with what it needs: then the user is asked."
)


def is_answered_by_queue(asked: Ask | None) -> bool:
    """Whether a queued message may answer the ask: never an approval, a plan, or the question of an MCP server.

    It was written before the user saw the ask.
    """
    return isinstance(asked, QuestionAsk | CompletionAsk) and not isinstance(asked, ElicitationAsk | PlanAsk)


class News(msgspec.Struct, frozen=True, kw_only=True):
    """News for the model that are not a prompt: `about` is the agent, `delivered` is called when they were sent.

    If they `may_wait`, they come with the next request, and are no reason for one.
    """

    about: str
    text: str
    delivered: Callable[[], None]
    may_wait: bool = False


class PendingAsk(msgspec.Struct, frozen=True, kw_only=True):
    """An open ask of a task. With `takes_commands` a command can interrupt it, after which it is asked again.

    One that an earlier process left open (`only_by_ts`) is answered only by its `ts`: the offer to resume is what the
    user sees.
    """

    task_id: str
    message: Message
    future: asyncio.Future[Answer | CondenseContext | News]
    takes_commands: bool = False
    only_by_ts: bool = False


class ResumedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an ask, `row`, that an earlier process left open. Its call passes policy again first.

    `is_approval` says that the ask was whether the call may run, and not a question that the running call asked.
    """

    row: Message
    answer: Answer
    is_approval: bool


class AskTable:
    """The open asks of all tasks of a session, each answered by its `ts`. The first valid answer wins."""

    def __init__(self) -> None:
        self._pending: dict[int, PendingAsk] = {}
        self._answered: set[int] = set()
        self._given_by: dict[int, AnsweredBy] = {}
        self._about_output: set[int] = set()
        self.on_change: Callable[[], None] = lambda: None  # called when a task begins or ends to wait

    def show_output(self, ts: int) -> None:
        """Register the ask `ts` about a running command. It may be answered, but nothing waits for the answer."""
        self._about_output.add(ts)

    def end_output(self, ts: int) -> None:
        """Remove the ask `ts`, because its command has ended."""
        self._about_output.discard(ts)

    def is_about_output(self, ts: int | None) -> bool:
        """Whether an answer to the ask `ts`, or one without a `ts`, is meant for a running command."""
        return ts in self._about_output if ts is not None else not self.open_asks and bool(self._about_output)

    @property
    def open_asks(self) -> list[PendingAsk]:
        """All open asks, in order. One whose task was interrupted is not open, although the task may not know yet."""
        return [pending for pending in self._pending.values() if not pending.future.done()]

    def newest_of(self, task_id: str) -> PendingAsk | None:
        """The newest open ask of a task."""
        return next((pending for pending in reversed(self.open_asks) if pending.task_id == task_id), None)

    @property
    def has_unread_answer(self) -> bool:
        """Whether a task has an answer, or a command instead of one, that it has not processed yet."""
        return bool(self._answered)

    async def wait_by_ts(self, task_id: str, message: Message) -> Answer:
        """Wait for an answer that names this ask, which an earlier process left open."""
        answer = await self.wait(task_id, message, only_by_ts=True)
        assert not isinstance(answer, CondenseContext | News)
        return answer

    async def wait(
        self, task_id: str, message: Message, *, takes_commands: bool = False, only_by_ts: bool = False
    ) -> Answer | CondenseContext | News:
        """Wait for the answer, or with `takes_commands` for a command that comes instead.

        However the wait ends, the ask is then no longer answerable.
        """
        pending = PendingAsk(
            task_id=task_id,
            message=message,
            future=asyncio.get_running_loop().create_future(),
            takes_commands=takes_commands,
            only_by_ts=only_by_ts,
        )
        self._pending[message.ts] = pending
        self.on_change()
        try:
            return await pending.future
        finally:
            self._pending.pop(message.ts, None)
            self._answered.discard(message.ts)
            self.on_change()

    def find(self, ts: int | None) -> PendingAsk | Refused:
        """The open ask `ts`, or the only one that is open; the refusal if there is no such ask, or several."""
        if ts is not None:
            choices = [pending for pending in self.open_asks if pending.message.ts == ts]
        else:
            choices = [pending for pending in self.open_asks if not pending.only_by_ts]
        match choices:
            case [pending]:
                return pending
            case []:
                return Refused(code="stale_ask", message=_why_stale(ts, self.open_asks))
            case _:
                return Refused(code="ambiguous_ask", message=_why_ambiguous(choices))

    def settle(
        self, pending: PendingAsk, answer: Answer | CondenseContext | News, by: "AnsweredBy | None" = None
    ) -> None:
        """Hand over the answer, or the command that comes instead of one. The ask is open no longer."""
        ts = pending.message.ts
        del self._pending[ts]
        self._answered.add(ts)
        if by is not None:
            self._given_by[ts] = by
        pending.future.set_result(answer)

    def take_giver(self, ts: int) -> "AnsweredBy | None":
        """Who has answered this ask; to be recorded with the answer."""
        return self._given_by.pop(ts, None)

    def wake(self, task_id: str, news: News) -> None:
        """Continue a task that waits for the next prompt with news instead, unless they may wait."""
        pending = None if news.may_wait else self.newest_of(task_id)
        if pending is not None and pending.takes_commands and isinstance(pending.message.asked, CompletionAsk):
            self.settle(pending, news)


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


def _why_stale(ts: int | None, open_asks: Sequence[PendingAsk]) -> str:
    if ts is None or not open_asks:
        return "No question is open; the answer was ignored."
    pending = ", ".join(str(each.message.ts) for each in open_asks)
    return f"The ask {ts} is not pending (now pending: {pending}); the answer was ignored."


def _why_ambiguous(choices: Sequence[PendingAsk]) -> str:
    named = "; ".join(f"{each.message.ts}: {each.message.ask} of {each.task_id}{_quoted(each)}" for each in choices)
    return f"{len(choices)} asks are pending, and the answer was ignored, because it has no ts. Pending: {named}."


def _quoted(pending: PendingAsk) -> str:
    text = single_line(pending.message.text or "", MAX_ASK_SHOWN)
    return f" ({text})" if text else ""


class MessageQueue:
    """Messages typed while the agent was busy, first in, first out. Every change is logged, so it survives a crash.

    A queue id is the id of a subtask that the user talks to on its own, or None for the conversation with the user: a
    task, and the subtasks that it waits for.
    """

    def __init__(self, journal: Journal, on_change: Callable[[str | None], None]) -> None:
        """`on_change` is called with the id of the queue that has changed."""
        self._journal = journal
        self._on_change = on_change
        # What takes the messages of a queue at once, because who reads it works in another process.
        self.takers: dict[str | None, Callable[[QueueMessage], None]] = {}
        self._entries: tuple[QueuedMessage, ...] = ()
        self._commands_of_log: frozenset[str] = frozenset()

    def restore(self, waiting: Sequence[QueuedMessage]) -> None:
        """Restore the queue of an earlier process from the log. Subtasks ended with it; their messages are for all."""
        self._entries = tuple(msgspec.structs.replace(entry, task_id=None) for entry in waiting)
        self._commands_of_log = frozenset(entry.text for entry in waiting if entry.is_command)

    def is_from_log(self, command: str) -> bool:
        """Whether this shell command comes from a log, which may have been forged, so that it needs approval."""
        return command in self._commands_of_log

    def entries(self, queue_id: str | None = None) -> tuple[QueuedMessage, ...]:
        """The messages that wait in one queue."""
        return tuple(entry for entry in self._entries if entry.task_id == queue_id)

    def find(self, id: str) -> QueuedMessage | Refused:
        """The queued message with this id; the refusal if there is none."""
        queued = next((entry for entry in self._entries if entry.id == id), None)
        message = f"There is no queued message {id}: it was already sent or removed."
        return queued or Refused(code="not_queued", message=message)

    def add(self, message: QueueMessage, queue_id: str | None = None) -> QueuedMessage:
        """Add a message at the end."""
        ts = self._journal.next_ts()
        entry = QueuedMessage(
            id=f"q{ts}",
            timestamp=ts,
            text=message.text,
            images=message.images,
            after_turn=message.after_turn,
            is_command=message.is_command,
            task_id=queue_id,
        )
        if (take := self.takers.get(queue_id)) is not None:
            take(message)
        else:
            self._set((*self._entries, entry), queue_id)
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
        self._set(tuple(changed if entry is before else entry for entry in self._entries), before.task_id)

    def remove(self, queued: QueuedMessage) -> None:
        """Remove a queued message."""
        self._set(tuple(entry for entry in self._entries if entry is not queued), queued.task_id)

    def take(self, queue_id: str | None, *, is_turn_over: bool = False) -> QueuedMessage | None:
        """Remove and return the oldest entry that is due; `is_turn_over` also takes entries for the end of the turn."""
        due = (entry for entry in self.entries(queue_id) if is_turn_over or not entry.after_turn)
        first = next(due, None)
        if first is not None:
            self.remove(first)
        return first

    def hand_over(self, queue_id: str, heir: str | None) -> None:
        """Move the messages of a subtask that has ended to the queue of its parent."""
        if self.entries(queue_id):
            moved = (
                msgspec.structs.replace(entry, task_id=heir) if entry.task_id == queue_id else entry
                for entry in self._entries
            )
            self._set(tuple(moved), heir)

    def _set(self, entries: tuple[QueuedMessage, ...], queue_id: str | None) -> None:
        self._entries = entries
        self._journal.write(QueueRecord(queue=entries))
        self._on_change(queue_id)


class UserInput(msgspec.Struct, frozen=True, kw_only=True):
    """Text and images for the model. With `is_command` it is a shell command, whose output the model gets."""

    text: str
    images: tuple[str, ...] = ()
    is_prompt: bool = True  # typed by the user, not generated by a parent task or a resumption
    is_command: bool = False
    is_carried_out: bool = False  # an order to Robota itself, which the model need not answer

    @property
    def as_typed(self) -> str:
        """The text as the conversation shows it."""
        return f"!{self.text}" if self.is_command else self.text


def first_input(command: NewTask, *, is_of_user: bool) -> UserInput:
    """The first input of a new task. That of an agent was written by a model."""
    is_command = command.is_command and is_of_user
    return UserInput(text=command.text, images=command.images, is_prompt=is_of_user, is_command=is_command)


def input_from(source: Answer | QueuedMessage) -> UserInput:
    """The input in an answer or a queued message."""
    is_command = isinstance(source, Say | QueuedMessage) and source.is_command
    return UserInput(text=source.text, images=source.images, is_command=is_command)


class AskedCauses:
    """How often the user was asked in a session because the sandbox stopped something, by cause."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()
        self._declined: set[str] = set()

    def may_ask(self, cause: str) -> bool:
        """Count a question, unless it would be the third for its cause, or follow a no. Without a cause it is free."""
        self._asked[cause] += 1
        return not cause or (cause not in self._declined and self._asked[cause] <= MAX_ASKS_FOR_ONE_CAUSE)

    def decline(self, cause: str) -> None:
        """The user said no: it is not asked again because of this cause."""
        self._declined.add(cause)

    def why_not(self, cause: str) -> str:
        """What the model must know where it is not asked again."""
        return ASKED_ENOUGH if cause in self._declined else ALLOWED_BEFORE
