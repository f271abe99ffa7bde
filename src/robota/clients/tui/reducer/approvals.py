"""Requests for approval: show their cards one after another, and answer them by keys or in words."""

from typing import Final

from msgspec.structs import replace

from robota.clients.answering.approval_line import Again, EditFirst, ShowAll, meaning_of
from robota.clients.tui.effects import OpenTranscript, PrintSubject, ShowChangeOf
from robota.clients.tui.flows.approval_keys import (
    ApprovalCard,
    CardAction,
    CardStep,
    card_for,
    choices,
    is_for_input,
    press,
)
from robota.clients.tui.flows.quick_approvals import QuickApprovals
from robota.clients.tui.flows.typing_pause import CardFocus, TypingPause
from robota.clients.tui.key_table import NamedKey
from robota.clients.tui.live_view import PLAIN_THEME, card_drawing, room_for_dialog
from robota.clients.tui.reducer.dialogs import can_confine
from robota.clients.tui.reducer.sending import stop_turn
from robota.clients.tui.reducer.step import ScreenStep
from robota.clients.tui.state import AskedApproval, CardEdit, CardReply, OpenApproval
from robota.clients.tui.theme import Role
from robota.clients.tui.widgets.approval_card import card_layout, short_command
from robota.clients.tui.widgets.approval_subject import fits_at_once
from robota.protocol.asks.answer import Answer, Approve, ApproveEdited, ApproveHunks, ApproveInput, Reject
from robota.protocol.commands import AskResponse
from robota.protocol.permission_mode import PermissionMode

# In a lower window a command is printed above its card instead of in it.
MIN_ROWS_WITH_COMMAND: Final = 24
BEFORE_CONFINED: Final = frozenset({PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS})
# If the rule that they would grant is not shown, these keys show it first.
GRANTING_KEYS: Final = frozenset({"a", "2", "g"})
NOTHING_CHANGED: Final = "Nothing was changed."
TEXT_KEPT: Final = "What you wrote is kept: press Ctrl+R to find it."
SEE_ALL_FIRST: Final = "Not everything has been shown yet: press Ctrl+O to see it."


def asked(step: ScreenStep, request: AskedApproval) -> ScreenStep:
    """Show the request, or queue it until the shown one is answered: parallel calls may ask at the same time."""
    if step.state.approval is not None:
        return step.change(waiting_approvals=(*step.state.waiting_approvals, request))
    return _show(step, request)


def answered(step: ScreenStep, ts: int) -> ScreenStep:
    """Remove a request that was answered, here or elsewhere."""
    waiting = tuple(each for each in step.state.waiting_approvals if each.message.ts != ts)
    step, approval = step.change(waiting_approvals=waiting), step.state.approval
    return _close(step) if approval is not None and approval.request.message.ts == ts else step


def withdrawn(step: ScreenStep) -> ScreenStep:
    """Remove all requests: the task was stopped, or asks something else."""
    return _close(step.change(waiting_approvals=()))


def pressed_on_card(step: ScreenStep, approval: OpenApproval, key: str) -> ScreenStep:
    """Pass a key to the card; text that is not an answer goes to the input."""
    if key == NamedKey.TAB:
        return _leave_card(step, approval)
    if is_for_input(approval.card, key):
        return _leave_card(step, approval).insert(key)
    result = press(approval.card, _shown_key(step, approval, key))
    if isinstance(result, ApprovalCard):
        return step.change(approval=replace(approval, card=result))
    if isinstance(result, CardAction):
        return _act(step, approval, result)
    return _answer(step, approval, result)


def focus_card(step: ScreenStep) -> ScreenStep:
    """Move the focus to the card, even with text in the input; a Tab right after typing is ignored."""
    approval = step.state.approval
    if approval is None or not approval.focus.pause.is_over(step.state.now):
        return step
    return step.change(approval=replace(approval, focus=approval.focus.turned_to()))


def answer_with_input(step: ScreenStep, approval: OpenApproval) -> ScreenStep:
    """Use the input for the card: the edited subject, or an answer in words."""
    text, subject = step.state.draft.expanded, approval.request.asked
    if isinstance(approval.input_use, CardEdit) and subject.editable is not None:
        if text == subject.editable.text:
            return return_to_card(step, approval).tell(NOTHING_CHANGED)
        return _submit_answer(_text_used(step, approval), approval, ApproveEdited(edited=text))
    match meaning_of(text, subject):
        case Again(hint):
            return step.tell(hint)
        case ShowAll() | EditFirst():
            return return_to_card(step, approval)
        case answer:
            return _answer(_text_used(step, approval), replace(approval, input_use=None), answer)


def return_to_card(step: ScreenStep, approval: OpenApproval) -> ScreenStep:
    """Use the input for prompts again. The text written for the card is in the history."""
    return _text_given_up(step.change(approval=replace(approval, input_use=None)), approval)


def _text_used(step: ScreenStep, approval: OpenApproval) -> ScreenStep:
    """The text written for the card answers it; the draft from before is in the input again."""
    use = approval.input_use
    draft = step.state.draft if use is None else step.state.draft.replaced(use.draft)
    return step.change(approval=replace(approval, input_use=None), draft=draft)


def _text_given_up(step: ScreenStep, approval: OpenApproval) -> ScreenStep:
    """The text written for the card was not sent: restore the draft from before, and say where the text is."""
    use, draft, editable = approval.input_use, step.state.draft, approval.request.asked.editable
    if use is None:
        return step
    if isinstance(use, CardEdit) and editable is not None and draft.text == editable.text:
        return step.change(draft=draft.put(use.draft))
    step = step.change(draft=draft.replaced(use.draft))
    return step.hint(TEXT_KEPT) if draft.replaces(use.draft) else step


def _show(step: ScreenStep, request: AskedApproval) -> ScreenStep:
    state = step.state
    card = _card(step, request)
    approval = OpenApproval(
        request=request,
        card=card,
        focus=CardFocus(pause=TypingPause(since=state.now)),
        shown_at=state.now,
        is_all_shown=fits_at_once(request.asked),
    )
    has_named = state.has_named_confined or card.names_confined
    step = step.change(approval=approval, dialog=None, has_named_confined=has_named).preview(None).wake_after_pause()
    has_room = state.window.rows >= MIN_ROWS_WITH_COMMAND and not request.asked.verdict.changed
    is_in_card = has_room and short_command(request.asked, state.window.columns)
    return step if is_in_card else step.plus(PrintSubject(asked=request.asked, is_whole=False))


def _card(step: ScreenStep, request: AskedApproval) -> ApprovalCard:
    """The card as it is first shown."""
    proposal = (step.state.quick_approvals or QuickApprovals()).proposal(request.asked, step.state.now)
    names_confined = not step.state.has_named_confined and _could_run_confined(step)
    return card_for(request.asked, kept_out=step.state.view.kept_out, proposal=proposal, names_confined=names_confined)


def _could_run_confined(step: ScreenStep) -> bool:
    """Whether Shift+Tab leads to the mode in which such commands run unasked."""
    session = step.state.view.session
    is_before = session is not None and session.permission_mode in BEFORE_CONFINED
    return is_before and session is not None and can_confine(session)


def _close(step: ScreenStep) -> ScreenStep:
    """Remove the card, restore the draft in the input, and show the next request."""
    approval = step.state.approval
    if approval is None:
        return step
    step = _text_given_up(step.change(approval=None), approval)
    first, *others = step.state.waiting_approvals or (None,)
    return step if first is None else _show(step.change(waiting_approvals=tuple(others)), first)


def _leave_card(step: ScreenStep, approval: OpenApproval) -> ScreenStep:
    """Move the focus to the input; after a pause the card says how to return."""
    focus = approval.focus.left(step.state.now, is_writing=True)
    return step.change(approval=replace(approval, focus=focus)).wake_after_pause()


def _shown_key(step: ScreenStep, approval: OpenApproval, key: str) -> str:
    """The key; one that would grant a rule that is not shown in a low window shows the rules instead."""
    card = approval.card
    is_selected = key == NamedKey.ENTER and card.rows.index is not None
    granting = choices(card)[card.rows.index or 0].key if is_selected else key
    if card.step is not CardStep.ANSWERS or granting not in GRANTING_KEYS:
        return key
    drawing = card_drawing(step.state, room_for_dialog(step.state))
    return "r" if card_layout(card, PLAIN_THEME, drawing).is_low else key


def _act(step: ScreenStep, approval: OpenApproval, action: CardAction) -> ScreenStep:
    match action:
        case CardAction.STOP_TURN if step.state.view.is_asked_beside(approval.request.message.ts):
            return _submit_answer(
                step, approval, Reject()
            )  # the agent continues without the call, and so do the others
        case CardAction.STOP_TURN:
            return stop_turn(step)
        case CardAction.SEE_ALL if approval.is_all_shown:
            return step.plus(OpenTranscript())
        case CardAction.SEE_ALL:
            step = step.change(approval=replace(approval, is_all_shown=True))
            return step.plus(PrintSubject(asked=approval.request.asked, is_whole=True))
        case CardAction.EDIT | CardAction.SAY_WORDS:
            return _use_input(step, approval, is_edit=action is CardAction.EDIT)


def _use_input(step: ScreenStep, approval: OpenApproval, *, is_edit: bool) -> ScreenStep:
    """Put the subject or an answer into the input; the text that was there is kept as a draft."""
    draft, editable = step.state.draft, approval.request.asked.editable
    use = CardEdit(draft.text) if is_edit else CardReply(draft.text)
    focus = approval.focus.left(step.state.now, is_writing=False)
    text = editable.text if is_edit and editable is not None else ""
    return step.change(approval=replace(approval, input_use=use, focus=focus), draft=draft.put(text))


def _answer(step: ScreenStep, approval: OpenApproval, answer: Answer) -> ScreenStep:
    """Answer, if the user was shown everything that they would approve."""
    if not approval.is_all_shown and isinstance(answer, Approve | ApproveHunks | ApproveInput):
        step = step.change(approval=replace(approval, card=_card(step, approval.request)))
        return step.tell(SEE_ALL_FIRST, Role.WARNING)
    if isinstance(answer, Approve) and not answer.grant:
        quick = step.state.quick_approvals or QuickApprovals()
        quick = quick.approved(approval.request.asked, approval.shown_at, step.state.now)
        step = step.change(quick_approvals=quick)
    return _submit_answer(step, approval, answer)


def _submit_answer(step: ScreenStep, approval: OpenApproval, answer: Answer) -> ScreenStep:
    message = approval.request.message
    if isinstance(answer, ApproveEdited | ApproveHunks) and message.call_id is not None:
        step = step.plus(ShowChangeOf(message.call_id))
    return answered(step, message.ts).submit(AskResponse(answer=answer, ts=message.ts))
