"""Handle keys and typed lines for the card of a request for approval; imported with the first one."""

import time
from typing import TYPE_CHECKING, Final

from robota.clients.answering.approval_line import Again, EditFirst, ShowAll, meaning_of
from robota.clients.tui.approvals.pending_approval import PendingApproval
from robota.clients.tui.dialogs import OpenDialog
from robota.clients.tui.flows.approval_keys import CardAction, card_for
from robota.clients.tui.flows.input_purpose import InputPurpose
from robota.clients.tui.flows.quick_approvals import QuickApprovals
from robota.clients.tui.theme import Role
from robota.protocol.asks.answer import Answer, Approve, ApproveEdited

if TYPE_CHECKING:
    from robota.clients.tui.app import ScreenConversation

TEXT_KEPT: Final = "What you wrote is kept: press Ctrl+R to find it."
SEE_ALL_FIRST: Final = "Not everything has been shown yet: press Ctrl+O to see it."


class CardKeys:
    """The cards of one conversation."""

    def __init__(self, conversation: "ScreenConversation") -> None:
        self._conversation = conversation
        self._quick = QuickApprovals()

    def show(self, approval: PendingApproval) -> None:
        """Show the card of a request."""
        self._conversation.dialog = self._dialog(approval)
        self._conversation.keys.wake_after_pause()

    def enter(self, approval: PendingApproval) -> None:
        """Use the input for the card: the changed subject, or an answer in words."""
        conversation = self._conversation
        text = conversation.input.expanded()
        editable = approval.asked.editable
        if approval.purpose is InputPurpose.EDIT and editable is not None:
            if text == editable.text:
                self.go_back(approval)
                conversation.tell("Nothing was changed.")
            else:
                conversation.sending.answer(ApproveEdited(edited=text))
            return
        match meaning_of(text, approval.asked):
            case Again(hint):
                conversation.tell(hint)
            case ShowAll() | EditFirst():
                self.go_back(approval)
            case answer:
                self.go_back(approval)
                self._answer(approval, answer)

    def go_back(self, approval: PendingApproval) -> None:
        """Use the input for prompts again. The text written for the card is in the history."""
        editable = approval.asked.editable
        is_edit = approval.purpose is InputPurpose.EDIT and editable is not None
        approval.purpose = InputPurpose.PROMPT
        area = self._conversation.input
        if is_edit and editable is not None and area.text == editable.text:
            area.put(approval.draft)
        elif area.put_instead(approval.draft):
            self._conversation.show_hint(TEXT_KEPT)

    def _dialog(self, approval: PendingApproval) -> OpenDialog:
        proposal = self._quick.proposal(approval.asked, time.monotonic())
        card = card_for(approval.asked, kept_out=self._conversation.view.kept_out, proposal=proposal)
        return OpenDialog(card, lambda result: self._chosen(approval, result))

    def _chosen(self, approval: PendingApproval, result: object) -> None:
        conversation = self._conversation
        match result:
            case CardAction.STOP_TURN:
                conversation.keys.stop_turn()
            case CardAction.SEE_ALL if approval.is_all_shown:
                conversation.keys.show_transcript()
            case CardAction.SEE_ALL:
                conversation.scrollback.block(approval.all_rows())
                conversation.draw_soon()
            case CardAction.EDIT | CardAction.SAY_WORDS:
                self._turn_to_input(approval, result)
            case _:
                self._answer(approval, result)

    def _answer(self, approval: PendingApproval, answer: object) -> None:
        if not isinstance(answer, Answer):
            return
        if approval.may_answer(answer):
            if isinstance(answer, Approve) and not answer.grant:
                self._quick = self._quick.approved(approval.asked, approval.shown_at, time.monotonic())
            self._conversation.sending.answer(answer)
        else:
            self._conversation.dialog = self._dialog(approval)
            self._conversation.tell(SEE_ALL_FIRST, Role.WARNING)

    def _turn_to_input(self, approval: PendingApproval, wish: CardAction) -> None:
        """Put the subject or an answer into the input; the text that was there is kept as a draft."""
        is_edit = wish is CardAction.EDIT
        approval.draft = self._conversation.input.text
        approval.purpose = InputPurpose.EDIT if is_edit else InputPurpose.WORDS
        approval.focus = approval.focus.left(time.monotonic(), is_writing=False)
        editable = approval.asked.editable
        self._conversation.input.put(editable.text if is_edit and editable is not None else "")
