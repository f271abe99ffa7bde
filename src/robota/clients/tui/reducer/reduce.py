"""The reducer of the terminal UI: the state after an event, and the effects to perform."""

from typing import Final, assert_never

from msgspec.structs import replace

from robota.clients.terminal.editor import NotEdited
from robota.clients.tui.attached_files import AttachedImage, MentionedFile, NotAttached
from robota.clients.tui.effects import Quit
from robota.clients.tui.events import (
    BackgroundReported,
    ClipboardRead,
    CompletionDue,
    CursorMoved,
    EditorClosed,
    EffectResult,
    InputEvent,
    KeyPressed,
    OptionPicked,
    Pasted,
    Received,
    RedrawDue,
    SecondPassed,
    SessionClosed,
    SessionEvent,
    SessionOpened,
    Started,
    StatusPrinted,
    TextEdited,
    TimerEvent,
    UiEvent,
)
from robota.clients.tui.flows.entered_text import Written
from robota.clients.tui.reducer.keys import key_pressed
from robota.clients.tui.reducer.session import happened, opened, second_passed
from robota.clients.tui.reducer.step import ScreenStep
from robota.clients.tui.state import ScreenState
from robota.clients.tui.theme import Role

DRAFT_BACK: Final = "What you were writing when Robota was killed is in the input again."


def reduce(state: ScreenState, event: UiEvent) -> ScreenStep:
    """The state after the event, and what to do. Pure: the time and the size of the window are in the state."""
    step = ScreenStep(state)
    match event:
        case KeyPressed() | TextEdited() | CursorMoved() | Pasted():
            return _typed(step, event)
        case SessionOpened():
            return opened(step, event)
        case SessionEvent(session_event):
            return happened(step, session_event)
        case SessionClosed():
            return step.plus(Quit())
        case CompletionDue() | SecondPassed() | RedrawDue():
            return _timer_ended(step, event)
        case Started(left_draft):
            return _started(step, left_draft)
        case result:
            return _effect_ended(step, result)


def _typed(step: ScreenStep, event: InputEvent) -> ScreenStep:
    draft = step.state.draft
    match event:
        case TextEdited(text, caret):
            return step.write(replace(draft, text=text, caret=caret))
        case KeyPressed(key):
            return key_pressed(step, key)
        case CursorMoved(caret):
            return step.change(draft=replace(draft, caret=caret))
        case Pasted():
            return _pasted(step, event)
        case never:
            assert_never(never)


def _timer_ended(step: ScreenStep, event: TimerEvent) -> ScreenStep:
    match event:
        case RedrawDue():
            return step
        case SecondPassed(since):
            return second_passed(step, since)
        case CompletionDue(text, caret):
            return step.complete() if step.state.draft.position == (text, caret) else step
        case never:
            assert_never(never)


def _effect_ended(step: ScreenStep, event: EffectResult) -> ScreenStep:
    state = step.state
    match event:
        case Received():
            from robota.clients.tui.reducer.receipts import received

            return received(step, event)
        case OptionPicked(purpose, option):
            from robota.clients.tui.reducer.dialogs import picked

            return picked(step, purpose, option)
        case EditorClosed(text):
            if isinstance(text, NotEdited):
                return step.tell(f"! {text.why}", Role.ERROR)
            return step.change(draft=state.draft.put(text.rstrip("\n")))
        case ClipboardRead(content):
            if isinstance(content, NotAttached):
                return step.hint(content.why)
            return step.write(state.draft.with_image(content.data_url))
        case BackgroundReported(background):
            return step.change(colours=replace(state.colours, background=background)).paint()
        case StatusPrinted(output):
            return step.change(status_output=output)
        case never:
            assert_never(never)


def _started(step: ScreenStep, left_draft: str) -> ScreenStep:
    step = step.ask_background()
    if not left_draft:
        return step
    return step.change(draft=step.state.draft.restored(Written(text=left_draft))).tell(DRAFT_BACK)


def _pasted(step: ScreenStep, event: Pasted) -> ScreenStep:
    """Insert a paste: dropped files as mentions or images, anything else as text."""
    draft, problems = step.state.draft, []
    if not event.files:
        return step.write(draft.pasted(event.text))
    for path, file in event.files:
        match file:
            case AttachedImage(data_url):
                draft = draft.with_image(data_url)
            case MentionedFile(mention):
                draft = draft.inserted(f"{mention} ")
            case NotAttached(why):
                problems.append(why)
                draft = draft.inserted(f"{path} ")
            case never:
                assert_never(never)
    step = step.write(draft)
    return step.hint(" ".join(problems)) if problems else step
