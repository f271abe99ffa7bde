"""Send the user's input to the session: slash commands, prompts, answers, changes of the queue."""

from typing import Final

from robota.clients.tui.effects import (
    KeepPrompt,
    NotePastes,
    PrintPrompt,
    RemoveFromQueue,
    SentText,
    SlashRequest,
    StopRequest,
    Submit,
    TakeBack,
)
from robota.clients.tui.flows.entered_text import (
    TypeAgain,
    Words,
    Written,
    blocking_ask,
    meaning_of_entry,
    words_for_session,
)
from robota.clients.tui.reducer.step import ScreenStep
from robota.clients.tui.theme import Role
from robota.protocol.asks.ask import ElicitationAsk
from robota.protocol.commands import (
    AskResponse,
    CancelTask,
    EditQueuedMessage,
    ListRewindPoints,
    NewTask,
    QueueMessage,
    RemoveQueuedMessage,
    RunSlashCommand,
)
from robota.protocol.message import QueuedMessage

# Without arguments it opens the same list as Esc Esc.
REWIND: Final = "/rewind"
NO_IMAGES: Final = (
    "is not known to support images and may reject them; set options.seesImages in its profile if it does."
)


def enter(step: ScreenStep, *, is_steering: bool = False) -> ScreenStep:
    """Send the input as what it means: a slash command, a prompt, an answer."""
    pastes = step.state.draft.pastes
    draft, written = step.state.draft.taken()
    step = step.change(draft=draft)
    if pastes:
        step = step.plus(NotePastes(pastes))
    if written.text.strip():
        step = step.plus(KeepPrompt(written.text))
    meaning = meaning_of_entry(written, step.state.view, is_steering=is_steering)
    if isinstance(meaning, RunSlashCommand):
        if meaning.line.strip() == REWIND:
            return step.submit(ListRewindPoints())
        request = SlashRequest(line=meaning.line, written=written, is_steering=is_steering)
        return step.plus(Submit(meaning, request))
    return send(step, meaning, written)


def send(step: ScreenStep, command: Words, written: Written) -> ScreenStep:
    """Send text to the session; what answers nothing stays in the input."""
    if isinstance(command, TypeAgain):
        step = step.tell(command.hint) if command.hint else step
        return step if written.is_empty else put_back(step, written)
    session = step.state.view.session
    if written.images and session is not None and not session.sees_images:
        step = step.tell(f"! {session.model} {NO_IMAGES}", Role.WARNING)
    ask = blocking_ask(step.state.view)
    if isinstance(command, AskResponse) and ask is not None and isinstance(ask.asked, ElicitationAsk):
        step = step.plus(PrintPrompt(written.text))  # other answers have a separate row
    other = command if isinstance(command, NewTask | QueueMessage) else None
    return step.plus(Submit(command, SentText(written, other)))


def run_slash_command(step: ScreenStep, line: str, opened_by: tuple[str, ...] = ()) -> ScreenStep:
    """Run a slash command that was chosen from lists."""
    return step.plus(Submit(RunSlashCommand(line=line), SlashRequest(line=line, opened_by=opened_by)))


def stop_turn(step: ScreenStep) -> ScreenStep:
    """Ask the session to stop; until it has, the frame of the input shows that."""
    return step.change(is_stopping=True).plus(Submit(CancelTask(), StopRequest()))


def steer_queue(step: ScreenStep) -> ScreenStep:
    """Send everything that waits for the end of the turn with the next request."""
    for entry in step.state.view.queue:
        step = send_queued_now(step, entry)
    return step


def send_queued_now(step: ScreenStep, entry: QueuedMessage) -> ScreenStep:
    """Send a queued message with the next request."""
    if not entry.after_turn:
        return step
    return step.submit(EditQueuedMessage(id=entry.id, text=entry.text, images=entry.images, after_turn=False))


def take_back(step: ScreenStep, entry: QueuedMessage, *, is_quiet: bool = False) -> ScreenStep:
    """Move a queued message to the input for editing."""
    return step.plus(Submit(RemoveQueuedMessage(id=entry.id), TakeBack(entry, is_quiet)))


def take_all_back(step: ScreenStep) -> ScreenStep:
    """Put the whole queue back into the input, for the user to send or delete."""
    for entry in reversed(step.state.view.queue):
        step = take_back(step, entry, is_quiet=True)
    return step


def remove_queued(step: ScreenStep, entry: QueuedMessage) -> ScreenStep:
    """Remove a queued message; it stays in the history."""
    return step.plus(Submit(RemoveQueuedMessage(id=entry.id), RemoveFromQueue()))


def send_prose(step: ScreenStep, request: SlashRequest) -> ScreenStep:
    """Send several lines that only looked like a slash command."""
    written = request.written or Written(text=request.line)
    command = words_for_session(written, step.state.view, is_steering=request.is_steering)
    return send(step, command, written)


def put_back(step: ScreenStep, written: Written) -> ScreenStep:
    """Put a text back into the input that was not sent."""
    return step.change(draft=step.state.draft.restored(written))
