"""Interpret an entered text: a command, an answer, a prompt, or text for the queue."""

from typing import Final

import msgspec

from robota.clients.answering.question_line import AT_REST, TalkAsk, answer_to, hint_for, shell_command
from robota.clients.view.model import OpenAsk, ViewModel
from robota.protocol.asks.answer import Say
from robota.protocol.asks.ask import ApprovalAsk, QuestionAsk
from robota.protocol.asks.kinds import is_non_blocking_ask
from robota.protocol.commands import AskResponse, NewTask, QueueMessage, RunSlashCommand
from robota.protocol.slash_commands import typed_order
from robota.protocol.state import AgentState, RequiredAction

NOTHING_ANSWERS: Final = "That does not answer the question."


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The entered input: text, or a shell command line, and images."""

    text: str
    images: tuple[str, ...] = ()

    @property
    def shell_command(self) -> str | None:
        """The command line of `!command`; None if these are words."""
        return None if self.images else shell_command(self.text)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to send."""
        return not self.text.strip() and not self.images


def is_shell_line(text: str) -> bool:
    """Whether the input is a shell command line of the user, or the beginning of one."""
    return text.strip() == "!" or shell_command(text) is not None


class TypeAgain(msgspec.Struct, frozen=True):
    """It means nothing here; the text stays in the input, with a hint."""

    hint: str


Words = AskResponse | NewTask | QueueMessage | TypeAgain
Entered = RunSlashCommand | Words


def meaning_of_entry(written: Written, view: ViewModel, *, is_steering: bool = False) -> Entered:
    """What to send. Text never approves anything: at a request for approval it is queued for the agent."""
    if typed_order(written.text) is not None and not written.images:
        return RunSlashCommand(line=written.text)
    return words_for_session(written, view, is_steering=is_steering)


def words_for_session(written: Written, view: ViewModel, *, is_steering: bool = False) -> Words:
    """Like `meaning_of_entry`, for text that is not a slash command.

    While a task works it waits until the turn is over; if it `is_steering`, only for the next request of the turn.
    """
    ask = blocking_ask(view)
    command = written.shell_command
    if ask is not None and not isinstance(ask.asked, ApprovalAsk) and (not command or isinstance(ask.asked, AT_REST)):
        return _answered(written, ask.asked or QuestionAsk(question=ask.message.text or ""), ask.message.ts)
    if written.is_empty:
        return TypeAgain("")
    text, is_command = command or written.text, command is not None
    if has_running_task(view):
        return QueueMessage(text=text, images=written.images, after_turn=not is_steering, is_command=is_command)
    return NewTask(text=text, images=written.images, is_command=is_command)


def _answered(written: Written, asked: TalkAsk, ts: int) -> AskResponse | TypeAgain:
    answer = Say(text=written.text, images=written.images) if written.images else answer_to(asked, written.text)
    if answer is not None:
        return AskResponse(answer=answer, ts=ts)
    return TypeAgain(hint_for(asked) or ("" if written.is_empty else NOTHING_ANSWERS))


def blocking_ask(view: ViewModel) -> OpenAsk | None:
    """The ask that waits for the user; a command that only runs is not one."""
    ask = view.pending_ask
    return None if ask is None or is_non_blocking_ask(ask.message.ask or "") else ask


def has_running_task(view: ViewModel) -> bool:
    """Whether words can be queued for a task."""
    agent = view.agent
    return (
        not view.has_ended
        and agent.state is not AgentState.NO_TASK
        and agent.required_action is not RequiredAction.START_NEW_TASK
    )


def is_working(view: ViewModel) -> bool:
    """Whether something runs that Esc could stop; a task that waits for an answer is in the middle of its work."""
    ask = blocking_ask(view)
    return is_running(view) if ask is None else not isinstance(ask.asked, AT_REST)


def is_running(view: ViewModel) -> bool:
    """Whether the agent does something by itself."""
    return view.agent.is_running and not view.has_ended
