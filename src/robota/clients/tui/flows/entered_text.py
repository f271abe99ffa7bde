"""What an entered text means to the session: a command, an answer, a prompt, or words that wait their turn."""

from typing import Final

import msgspec

from robota.clients.answering.talk import answer_to, hint_for
from robota.clients.view.model import OpenAsk, ViewModel
from robota.protocol.asks.ask import ApprovalAsk, QuestionAsk
from robota.protocol.asks.kinds import is_non_blocking_ask
from robota.protocol.commands import AskResponse, NewTask, QueueMessage, RunSlashCommand
from robota.protocol.slash_commands import typed_command
from robota.protocol.state import AgentState, RequiredAction

NOTHING_ANSWERS: Final = "That is no answer to the question."


class TypeAgain(msgspec.Struct, frozen=True):
    """It means nothing here; the text stays in the input, with a hint."""

    hint: str


Entered = RunSlashCommand | AskResponse | NewTask | QueueMessage | TypeAgain


def meaning_of_entry(text: str, view: ViewModel) -> Entered:
    """What to send. Words never approve anything: at a request for approval they wait until the agent reads them."""
    if typed_command(text) is not None:
        return RunSlashCommand(line=text)
    return words_for_session(text, view)


def words_for_session(text: str, view: ViewModel) -> AskResponse | NewTask | QueueMessage | TypeAgain:
    """As `meaning_of_entry`, for words that are no command."""
    ask = blocking_ask(view)
    if ask is not None and not isinstance(ask.asked, ApprovalAsk):
        asked = ask.asked or QuestionAsk(question=ask.message.text or "")
        answer = answer_to(asked, text)
        if answer is not None:
            return AskResponse(answer=answer, ts=ask.message.ts)
        return TypeAgain(hint_for(asked) or (NOTHING_ANSWERS if text.strip() else ""))
    if not text.strip():
        return TypeAgain("")
    return QueueMessage(text=text) if has_running_task(view) else NewTask(text=text)


def blocking_ask(view: ViewModel) -> OpenAsk | None:
    """What waits for the person; a command that merely runs waits for nobody."""
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
    """Whether something runs that Esc could stop; a task that waits for an approval is in the middle of its work."""
    ask = blocking_ask(view)
    return isinstance(ask.asked, ApprovalAsk) if ask is not None else is_running(view)


def is_running(view: ViewModel) -> bool:
    """Whether the agent does something by itself."""
    return view.agent.is_running and not view.has_ended
