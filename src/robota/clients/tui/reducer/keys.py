"""Perform the action of a key."""

from collections.abc import Mapping
from typing import Final, assert_never

from robota.clients.tui.effects import KeepPrompt, OpenAgents, OpenTranscript, Quit, ReadClipboard, RunEditor
from robota.clients.tui.flows.completion_popup import PopupEnter
from robota.clients.tui.flows.entered_text import Written, blocking_ask
from robota.clients.tui.key_table import (
    OFFERED,
    Action,
    AnswerAction,
    ApprovalAction,
    DialogAction,
    DraftAction,
    NamedKey,
    PopupAction,
    ScreenAction,
    SessionAction,
)
from robota.clients.tui.layers import action_for
from robota.clients.tui.live_view import input_columns, shown_answers
from robota.clients.tui.reducer.sending import enter, remove_queued, run_slash_command, send, steer_queue, stop_turn
from robota.clients.tui.reducer.step import ScreenStep
from robota.clients.view.model import ViewModel
from robota.protocol.asks.answer import Say
from robota.protocol.asks.ask import EDITED_PLAN, PlanAsk
from robota.protocol.commands import AskResponse, ListRewindPoints, RetryNow, RewindTo, TerminalOperation
from robota.protocol.rewind import RewindScope

HINTS: Final[Mapping[Action, str]] = {
    ScreenAction.LEAVE: "Press Ctrl+C again to exit.",
    SessionAction.REWIND: "Press Esc again to rewind to an earlier prompt.",
    DraftAction.CLEAR: "Press Esc again to clear the input; it stays in the history.",
}
NOTHING_TO_UNDO: Final = "No command has changed a file without approval."
CLEARED: Final = "Cleared. Press Up to bring it back."
CLEARED_WITH_QUEUE: Final = "Cleared. Press Ctrl+R to bring it back."


def key_pressed(step: ScreenStep, key: str) -> ScreenStep:
    """Perform what the key means in this state; its second press does what the first has offered."""
    action = action_for(step.state, key)
    offered = OFFERED.get(action)
    is_offered = step.state.shown_hint and step.state.hint.offered is offered
    if offered is not None and is_offered:
        action = offered
    return _perform(step.pressed(), action, key)


def _perform(step: ScreenStep, action: Action, key: str) -> ScreenStep:
    match action:
        case DraftAction():
            return _change_draft(step, action)
        case PopupAction():
            return _use_popup(step, action, key)
        case SessionAction():
            return _send(step, action)
        case DialogAction():
            return _use_dialog(step, action, key)
        case AnswerAction():
            return _use_answers(step, action)
        case ApprovalAction():
            return _use_card(step, action, key)
        case ScreenAction():
            return _use_screen(step, action)
        case never:
            assert_never(never)


def _send(step: ScreenStep, action: SessionAction) -> ScreenStep:
    match action:
        case SessionAction.SEND | SessionAction.STEER:
            return enter(step, is_steering=action is SessionAction.STEER)
        case SessionAction.STEER_QUEUE:
            return steer_queue(step)
        case SessionAction.REMOVE_QUEUED:
            return remove_queued(step, step.state.view.queue[-1])
        case SessionAction.RETRY_NOW:
            return step.change(draft=step.state.draft.put("")).submit(RetryNow())
        case SessionAction.STOP_TURN | SessionAction.STOP_TURN_AND_OFFER_LEAVING:
            stopped = stop_turn(step)
            return stopped if action is SessionAction.STOP_TURN else _offer(stopped, ScreenAction.LEAVE)
        case SessionAction.REWIND:
            return step.submit(ListRewindPoints())
        case SessionAction.UNDO_COMMAND:
            return _undo_command(step)
        case SessionAction.MOVE_TO_BACKGROUND:
            return step.submit(TerminalOperation(terminal_operation="background"))
        case never:
            assert_never(never)


def _undo_command(step: ScreenStep) -> ScreenStep:
    """Restore the files to their state before the newest command that nobody approved."""
    call_id = step.state.undo_call
    if call_id is None:
        return step.hint(NOTHING_TO_UNDO)
    return step.change(undo_call=None).submit(RewindTo(call_id=call_id, scope=RewindScope.FILES))


def _change_draft(step: ScreenStep, action: DraftAction) -> ScreenStep:
    draft = step.state.draft
    match action:
        case DraftAction.EDIT_TEXT | DraftAction.NOTHING:
            return step
        case DraftAction.CLEAR:
            step = step.change(draft=draft.cleared()).plus(KeepPrompt(draft.expanded))
            return step.hint(CLEARED_WITH_QUEUE if step.state.view.queue else CLEARED)
        case DraftAction.START_LINE:
            draft = draft.put(f"{draft.text[:-1]}\n")
        case DraftAction.OLDER_PROMPT:
            draft = draft.moved_by_row(-1, input_columns(step.state)) or draft.older()
        case DraftAction.NEWER_PROMPT:
            draft = draft.moved_by_row(1, input_columns(step.state)) or draft.newer()
        case DraftAction.ERASE_LABEL:
            return step.write(draft.without_label())
        case DraftAction.START_RANGE:
            return step.write(draft.with_range())
        case never:
            assert_never(never)
    return step.change(draft=draft)


def _use_popup(step: ScreenStep, action: PopupAction, key: str) -> ScreenStep:
    draft = step.state.draft
    match action:
        case PopupAction.CLOSE:
            return step.change(draft=draft.without_popup())
        case PopupAction.SELECT_PREVIOUS:
            return step.change(draft=draft.moved_in_popup(-1))
        case PopupAction.SELECT_NEXT:
            return step.change(draft=draft.moved_in_popup(1))
        case PopupAction.COMPLETE:
            return step.write(draft.completed())
        case PopupAction.COMPLETE_OR_SEND:
            return _complete_or_send(step, key)
        case never:
            assert_never(never)


def _complete_or_send(step: ScreenStep, key: str) -> ScreenStep:
    """Insert the selected completion, send the text, or both."""
    popup = step.state.draft.popup
    on_enter = PopupEnter.SEND if popup is None else popup.on_enter()
    if on_enter is not PopupEnter.SEND:
        step = step.write(step.state.draft.completed())
    if on_enter is PopupEnter.TAKE:
        return step
    return key_pressed(step.change(draft=step.state.draft.without_popup()), key)


def _use_dialog(step: ScreenStep, action: DialogAction, key: str) -> ScreenStep:
    from robota.clients.tui.reducer import dialogs

    match action:
        case DialogAction.PRESS:
            return dialogs.pressed_in_dialog(step, key)
        case DialogAction.CLOSE:
            return dialogs.pressed_in_dialog(step, NamedKey.ESCAPE)
        case DialogAction.OPEN_QUEUE:
            return dialogs.open_queue(step)
        case DialogAction.SEARCH_HISTORY:
            return dialogs.search_history(step)
        case DialogAction.NEXT_PERMISSION_MODE:
            return dialogs.next_permission_mode(step)
        case DialogAction.CHOOSE_EFFORT:
            return run_slash_command(step, "/effort")
        case never:
            assert_never(never)


def _use_answers(step: ScreenStep, action: AnswerAction) -> ScreenStep:
    """Choose an answer to the model's question, or give the chosen one."""
    answers = shown_answers(step.state)
    if answers is None:
        return step
    match action:
        case AnswerAction.PREVIOUS | AnswerAction.NEXT:
            return step.change(answers=answers.moved(-1 if action is AnswerAction.PREVIOUS else 1))
        case AnswerAction.GIVE if answers.chosen is not None:
            answer = AskResponse(answer=Say(text=answers.chosen), ts=answers.ts)
            return send(step, answer, Written(text=answers.chosen))
        case AnswerAction.GIVE:
            return enter(step)
        case never:
            assert_never(never)


def _use_card(step: ScreenStep, action: ApprovalAction, key: str) -> ScreenStep:
    approval = step.state.approval
    if approval is None:
        return step
    from robota.clients.tui.reducer import approvals

    match action:
        case ApprovalAction.PRESS:
            return approvals.pressed_on_card(step, approval, key)
        case ApprovalAction.ANSWER:
            return approvals.answer_with_input(step, approval)
        case ApprovalAction.RETURN_TO_CARD:
            return approvals.return_to_card(step, approval)
        case ApprovalAction.FOCUS_CARD:
            return approvals.focus_card(step)
        case never:
            assert_never(never)


def _use_screen(step: ScreenStep, action: ScreenAction) -> ScreenStep:
    match action:
        case ScreenAction.OFFER_CLEARING | ScreenAction.OFFER_REWIND | ScreenAction.OFFER_LEAVING:
            return _offer(step, OFFERED[action])
        case ScreenAction.LEAVE:
            return step.plus(Quit())
        case ScreenAction.SHOW_TRANSCRIPT:
            return step.plus(OpenTranscript())
        case ScreenAction.SHOW_AGENTS:
            return step.plus(OpenAgents())
        case ScreenAction.SHOW_KEYS:
            return _show_keys(step)
        case ScreenAction.EDIT_IN_EDITOR:
            return step.plus(RunEditor(step.state.draft.expanded or _plan_to_edit(step.state.view)))
        case ScreenAction.PASTE_IMAGE:
            return step.plus(ReadClipboard())
        case never:
            assert_never(never)


def _plan_to_edit(view: ViewModel) -> str:
    """The plan that the user is asked about, as the answer that changes it; empty if there is none."""
    ask = blocking_ask(view)
    return f"{EDITED_PLAN}\n\n{ask.asked.plan}\n" if ask is not None and isinstance(ask.asked, PlanAsk) else ""


def _offer(step: ScreenStep, offered: Action) -> ScreenStep:
    return step.hint(HINTS[offered], offered)


def _show_keys(step: ScreenStep) -> ScreenStep:
    """Show every key."""
    from robota.clients.tui.flows.panel import Panel
    from robota.clients.tui.personal.own_keys import key_help
    from robota.clients.tui.reducer.dialogs import open_panel
    from robota.protocol.views import TableView

    return open_panel(step, Panel(title="Keys", content=TableView(columns=(), rows=key_help(step.state.bindings))))
