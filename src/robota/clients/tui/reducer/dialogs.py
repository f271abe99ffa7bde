"""Lists, yes/no questions and the queue: open them, pass them keys, and run what the user chooses."""

from collections.abc import Sequence
from typing import Final, assert_never

from msgspec.structs import replace

from robota.clients.tui.effects import Effect, OpenBrowser, PrintText, SlashRequest, Submit
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt, is_no_answer, press_to_confirm
from robota.clients.tui.flows.list_picker import Picked, picker_for, press_in_list
from robota.clients.tui.flows.panel import Panel, PanelLeft, press_in_panel
from robota.clients.tui.flows.queue_list import (
    QueueAct,
    QueueChange,
    QueueLeft,
    QueueList,
    press_in_queue,
    queue_list,
    with_entries,
)
from robota.clients.tui.flows.typing_pause import TypingPause
from robota.clients.tui.live_view import PLAIN_THEME, room_for_dialog
from robota.clients.tui.reducer.sending import remove_queued, run_slash_command, send_queued_now, take_back
from robota.clients.tui.reducer.step import ScreenStep
from robota.clients.tui.state import (
    CommandOptions,
    ListDialog,
    ListPurpose,
    PanelDialog,
    PreviousPrompts,
    QuestionDialog,
    QueueDialog,
)
from robota.clients.tui.theme import Role
from robota.clients.tui.widgets.frame import inner_width
from robota.clients.tui.widgets.panel_rows import content_rows, panel_height
from robota.protocol.commands import RunSlashCommand, SetPermissionMode
from robota.protocol.events import SessionState
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.rewind import PromptPoint
from robota.protocol.slash_commands import CommandChoice, CommandOption
from robota.text.visible import single_line

# In a lower window, a list is shown above the input, without a preview.
MIN_ROWS_WITH_PREVIEW: Final = 12
MAX_PROMPT_LABEL: Final = 200
MODES: Final = (
    PermissionMode.DEFAULT,
    PermissionMode.ACCEPT_EDITS,
    PermissionMode.CONFINED,
    PermissionMode.PLAN,
    PermissionMode.BYPASS,
)
BYPASS_QUESTION: Final = "Run everything without asking (bypassPermissions)?"
ASKED_ALREADY: Final = "Answer the open question first; then type the command again."
NOTHING_CHANGED: Final = PrintText("Nothing was changed.")


# Opening.


def open_list(step: ScreenStep, choice: CommandChoice, purpose: ListPurpose) -> ScreenStep:
    """Let the user choose; a list with previews is a full screen."""
    *introduction, title = choice.title.split("\n")
    if introduction:  # a long one is printed with the conversation
        step = step.tell("\n".join(introduction), Role.PLAIN)
        choice = replace(choice, title=title)
    state, options = step.state, choice.options
    has_previews = any(option.preview for option in options)
    if has_previews and state.approval is None and state.window.rows >= MIN_ROWS_WITH_PREVIEW:
        return step.plus(OpenBrowser(choice, purpose))
    if state.approval is not None:
        return step.tell(ASKED_ALREADY)
    if isinstance(purpose, CommandOptions) and len(options) == 1 and not options[0].line.endswith(" "):
        return _ask_to_agree(step, choice, purpose)
    picker = picker_for(choice)
    step = step.change(dialog=ListDialog(picker=picker, purpose=purpose))
    return _preview(step, picker.chosen) if any(option.appearance for option in options) else step


def ask(step: ScreenStep, prompt: ConfirmPrompt, on_yes: Effect, on_no: Effect = NOTHING_CHANGED) -> ScreenStep:
    """Ask yes or no."""
    if step.state.approval is not None:
        return step.tell(ASKED_ALREADY)
    pause = TypingPause(since=step.state.now)
    dialog = QuestionDialog(prompt=prompt, pause=pause, on_yes=(on_yes,), on_no=(on_no,))
    return step.change(dialog=dialog).wake_after_pause()


def _ask_to_agree(step: ScreenStep, choice: CommandChoice, purpose: CommandOptions) -> ScreenStep:
    """A list with one option is a question: y and n answer it."""
    (option,) = choice.options
    words = f"{option.label}  {option.detail}".rstrip()
    question = ConfirmPrompt(question=choice.title, yes=words, no="no, change nothing")
    request = SlashRequest(line=option.line, opened_by=purpose.opened_by)
    return ask(step, question, Submit(RunSlashCommand(line=option.line), request))


def open_panel(step: ScreenStep, panel: Panel) -> ScreenStep:
    """Show something to read, until it is closed."""
    return step.change(dialog=PanelDialog(panel))


def open_queue(step: ScreenStep) -> ScreenStep:
    """Let the user edit the queue: a single entry directly, several in a list."""
    queue = step.state.view.queue
    if len(queue) == 1:
        return take_back(step, queue[0])
    is_free = queue and step.state.approval is None
    return step.change(dialog=QueueDialog(queue_list(queue))) if is_free else step


def queue_changed(step: ScreenStep) -> ScreenStep:
    """Update the open list of queued messages."""
    dialog = step.state.dialog
    if not isinstance(dialog, QueueDialog):
        return step
    entries = with_entries(dialog.entries, step.state.view.queue)
    return step.change(dialog=None if entries is None else QueueDialog(entries))


def search_history(step: ScreenStep) -> ScreenStep:
    """Let the user choose from the history of prompts."""
    prompts = step.state.draft.history.matching("")
    options = tuple(CommandOption(label=single_line(prompt, MAX_PROMPT_LABEL), line=prompt) for prompt in prompts)
    if not options:
        return step.hint("There are no previous prompts yet.")
    return open_list(step, CommandChoice(title="Previous prompts", options=options), PreviousPrompts())


def next_permission_mode(step: ScreenStep) -> ScreenStep:
    """Switch to the next permission mode; bypassing approvals needs a confirmation."""
    session = step.state.view.session
    if session is None:
        return step
    modes = [mode for mode in MODES if mode is not PermissionMode.CONFINED or can_confine(session)]
    place = modes.index(session.permission_mode) if session.permission_mode in modes else -1
    mode = modes[(place + 1) % len(modes)]
    change = Submit(SetPermissionMode(permission_mode=mode))
    if mode is not PermissionMode.BYPASS:
        return step.plus(change)
    question = ConfirmPrompt(question=BYPASS_QUESTION, no="no, return to default mode")
    # Declining continues the cycle with the default mode, so that the key does not get stuck here.
    return ask(step, question, change, Submit(SetPermissionMode(permission_mode=PermissionMode.DEFAULT)))


def can_confine(session: SessionState) -> bool:
    """Whether the permission mode confined may work in the session, as far as is known."""
    return session.can_confine and session.sandbox in (None, "bubblewrap")


def open_rewind_list(step: ScreenStep, points: Sequence[PromptPoint]) -> ScreenStep:
    """Let the user choose the prompt to rewind to, the newest first."""
    options = tuple(
        CommandOption(
            label=f"{point.number} {single_line(point.prompt, MAX_PROMPT_LABEL)}",
            line=f"/rewind restore {point.number}",
            detail=", ".join(point.files or ()),
            preview=f"/rewind diff {point.number}",
        )
        for point in reversed(points)
        if point.is_live
    )
    if not options:
        return step.tell("There is nothing to rewind to yet.")
    return open_list(step, CommandChoice(title="Rewind to before which prompt?", options=options), CommandOptions(()))


# Keys and choices.


def pressed_in_dialog(step: ScreenStep, key: str) -> ScreenStep:
    """Pass a key to the open dialog."""
    match step.state.dialog:
        case ListDialog() as dialog:
            return _pressed_in_list(step, dialog, key)
        case QuestionDialog() as dialog:
            return _pressed_in_question(step, dialog, key)
        case QueueDialog(entries):
            return _pressed_in_queue(step, entries, key)
        case PanelDialog(panel):
            return _pressed_in_panel(step, panel, key)
        case None:
            return step
        case never:
            assert_never(never)


def picked(step: ScreenStep, purpose: ListPurpose, option: CommandOption | None) -> ScreenStep:
    """Run or insert the chosen option; Esc returns to the list before, whose command runs again."""
    match purpose:
        case PreviousPrompts():
            return step if option is None else step.replace_draft(option.line)
        case CommandOptions(opened_by) if option is not None:
            return _run_option(step, option.line, opened_by)
        case CommandOptions(opened_by):
            return _run_option(step, opened_by[-2], opened_by[:-2]) if len(opened_by) > 1 else step
        case never:
            assert_never(never)


def _run_option(step: ScreenStep, line: str, opened_by: tuple[str, ...]) -> ScreenStep:
    """Run the chosen command; if it needs arguments, put it into the input."""
    return step.replace_draft(line) if line.endswith(" ") else run_slash_command(step, line, opened_by)


def _pressed_in_list(step: ScreenStep, dialog: ListDialog, key: str) -> ScreenStep:
    result = press_in_list(dialog.picker, key)
    if isinstance(result, Picked):
        step = step.change(dialog=None)
        step = step.preview(None) if result.option is None else step
        return picked(step, dialog.purpose, result.option)
    step = step.change(dialog=replace(dialog, picker=result))
    return _preview(step, result.chosen) if result.chosen != dialog.picker.chosen else step


def _preview(step: ScreenStep, option: CommandOption | None) -> ScreenStep:
    return step.preview(None if option is None else option.appearance)


def _pressed_in_question(step: ScreenStep, dialog: QuestionDialog, key: str) -> ScreenStep:
    if is_no_answer(key):  # typing closes it
        return step.change(dialog=None).plus(*dialog.on_no).insert(key)
    result = press_to_confirm(dialog.prompt, key)
    if isinstance(result, bool):
        return step.change(dialog=None).plus(*(dialog.on_yes if result else dialog.on_no))
    return step.change(dialog=replace(dialog, prompt=result))


def _pressed_in_panel(step: ScreenStep, panel: Panel, key: str) -> ScreenStep:
    count = len(content_rows(panel, PLAIN_THEME, inner_width(step.state.window.columns)))
    match press_in_panel(panel, key, count, panel_height(room_for_dialog(step.state))):
        case Panel() as moved:
            return step.change(dialog=PanelDialog(moved))
        case PanelLeft.CLOSED:
            return step.change(dialog=None)
        case PanelLeft.WRITING:
            return step.change(dialog=None).insert(key)
        case never:
            assert_never(never)


def _pressed_in_queue(step: ScreenStep, entries: QueueList, key: str) -> ScreenStep:
    match press_in_queue(entries, key):
        case QueueList() as moved:
            return step.change(dialog=QueueDialog(moved))
        case QueueChange() as change:
            return _change_queue(step, change)
        case QueueLeft(typed):
            step = step.change(dialog=None)
            return step.insert(typed) if typed else step
        case never:
            assert_never(never)


def _change_queue(step: ScreenStep, change: QueueChange) -> ScreenStep:
    match change.act:
        case QueueAct.EDIT:
            return take_back(step.change(dialog=None), change.entry)
        case QueueAct.REMOVE:
            return remove_queued(step, change.entry)  # the list is updated when the queue has changed
        case QueueAct.SEND_NOW:
            return send_queued_now(step.change(dialog=None), change.entry)
        case never:
            assert_never(never)
