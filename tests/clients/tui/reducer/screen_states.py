"""States of the terminal UI for tests of the reducer, and keys pressed in them. Everything here is pure."""

from typing import TypeVar

from msgspec.structs import replace

from robota.clients.tui.effects import Submit
from robota.clients.tui.events import KeyPressed, Received, SessionEvent, SessionOpened, TextEdited, UiEvent
from robota.clients.tui.flows.draft import Draft
from robota.clients.tui.flows.prompt_history import PromptHistory
from robota.clients.tui.reducer.reduce import reduce
from robota.clients.tui.reducer.step import ScreenStep
from robota.clients.tui.state import ScreenState
from robota.protocol.asks.ask import ApprovalAsk, ApprovalVerdict, EditableField, OfferedRules, PlanAsk, SuggestedAnswer
from robota.protocol.commands import Accepted, Command, Receipt
from robota.protocol.completion import CandidateKind, CompletionCandidate, PromptCompletion
from robota.protocol.events import Event, MessageCreated, QueuedMessagesUpdated, RetryScheduled, State, Thinking
from robota.protocol.message import Message, QueuedMessage
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.views import TerminalView
from tests.clients.stories import TASK, state

E = TypeVar("E")

# Long after anything appeared or was typed, so that cards and questions accept keys.
LATER_S = 3.0
COMMAND = ApprovalAsk(
    title="Bash rm",
    view=TerminalView(command="rm -r it", output=""),
    verdict=ApprovalVerdict(suggestions=(OfferedRules(rules=("Bash(rm:*)",), covers="much"),)),
    editable=EditableField(name="command", text="rm -r it"),
)
RETRY = RetryScheduled(task_id=TASK, attempt=1, max_retries=3, delay_ms=60_000, error="overloaded", reason="busy")
COMPLETION = PromptCompletion(
    candidates=(
        CompletionCandidate(insert="/help", label="/help", kind=CandidateKind.COMMAND),
        CompletionCandidate(insert="/hello", label="/hello", kind=CandidateKind.COMMAND),
    ),
    start=0,
    end=3,
)


def rows(*messages: Message) -> tuple[Event, ...]:
    return tuple(MessageCreated(task_id=TASK, message=message) for message in messages)


PROMPT = Message(ts=1, type="say", say="text", text="do it")
REQUEST = Message(ts=2, type="say", say="api_req_started", text="{}")
THINKING = (*rows(PROMPT, REQUEST), Thinking(task_id=TASK, is_thinking=True))


def asking(asked: ApprovalAsk = COMMAND, ts: int = 9) -> Event:
    message = Message(ts=ts, type="ask", ask="command", text="asked", asked=asked, call_id=f"call-{ts}")
    return MessageCreated(task_id=TASK, message=message)


def asking_about_plan(plan: str) -> Event:
    asked = PlanAsk(question="Carry out this plan?", suggestions=(SuggestedAnswer(answer="Carry it out"),), plan=plan)
    message = Message(ts=9, type="ask", ask="followup", text="asked", asked=asked, call_id="call-9")
    return MessageCreated(task_id=TASK, message=message)


def queued(*texts: str) -> Event:
    entries = [QueuedMessage(id=text, timestamp=5, text=text, after_turn=True) for text in texts]
    return QueuedMessagesUpdated(task_id=TASK, queue=tuple(entries))


def opened(*events: Event, mode: PermissionMode = PermissionMode.DEFAULT, vi: bool = False) -> ScreenState:
    """The state after the session has opened and these events."""
    draft = Draft(history=PromptHistory(prompts=("earlier",)))
    screen = ScreenState(draft=draft, has_vi_keys=vi)
    begins = State(state=replace(state().state, permission_mode=mode))
    screen = reduce(screen, SessionOpened(event=begins)).state
    for event in events:
        screen = reduce(screen, SessionEvent(event)).state
    return later(screen)


def later(screen: ScreenState, seconds: float = LATER_S) -> ScreenState:
    return replace(screen, now=screen.now + seconds)


def typed(screen: ScreenState, text: str) -> ScreenState:
    """The state some time after the user has typed this; every completion is answered."""
    step = reduce(screen, TextEdited(text, len(text)))
    return later(replied(step, Accepted(completion=COMPLETION)).state)


def pressed(screen: ScreenState, *keys: str) -> ScreenStep:
    """What the last key does, after the others."""
    step = ScreenStep(screen)
    for key in keys:
        step = reduce(later(step.state), KeyPressed(key))
    return step


def replied(step: ScreenStep, receipt: Receipt) -> ScreenStep:
    """After the session has replied to everything that was submitted."""
    for effect in step.effects:
        if isinstance(effect, Submit):
            step = reduce(step.state, Received(effect.request, receipt))
    return step


def commands(step: ScreenStep) -> list[Command]:
    """What is submitted to the session."""
    return [effect.command for effect in step.effects if isinstance(effect, Submit)]


def of_kind(step: ScreenStep, kind: type[E]) -> list[E]:
    return [effect for effect in step.effects if isinstance(effect, kind)]


def after(screen: ScreenState, *events: UiEvent) -> ScreenState:
    for event in events:
        screen = reduce(screen, event).state
    return screen
