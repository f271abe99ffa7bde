"""The dialog between the conversation and the input: a request for approval, a list, a question, the queue."""

import time
from collections.abc import Callable
from typing import Final, assert_never

from robota.clients.tui.flows.approval_keys import ApprovalCard, CardAction, CardStep, is_for_input, press
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt, press_to_confirm
from robota.clients.tui.flows.list_picker import ListPicker, Picked, press_in_list
from robota.clients.tui.flows.queue_list import QueueAct, QueueChange, QueueLeft, QueueList, press_in_queue
from robota.clients.tui.flows.typing_pause import TypingPause
from robota.clients.tui.theme import Theme
from robota.clients.tui.widgets.approval_card import CARD_SIZES, card_rows, low_card_rows
from robota.clients.tui.widgets.dialog_drawing import DialogDrawing
from robota.clients.tui.widgets.lists import confirm_rows, picker_rows, queue_rows
from robota.protocol.asks.answer import Answer
from robota.protocol.slash_commands import CommandOption

# If the rule that they would grant is not shown, these keys show it first.
GRANTING: Final = frozenset({"a", "2", "g"})

Dialog = ApprovalCard | ListPicker | ConfirmPrompt | QueueList
DialogResult = Answer | CardAction | CommandOption | QueueChange | QueueLeft | bool | None


class OpenDialog:
    """One dialog, and the callbacks for its result and for an option of a list that is previewed."""

    def __init__(
        self,
        dialog: Dialog,
        then: Callable[[DialogResult], None],
        looked_at: Callable[[CommandOption | None], None] = lambda option: None,
    ) -> None:
        self.dialog = dialog
        self.pause = TypingPause(since=time.monotonic())
        self._is_low = False  # whether only the question and the keys of a card were drawn
        self._then = then
        self._looked_at = looked_at

    @property
    def is_question(self) -> bool:
        """Whether single letters answer it; then text typed for something else must not."""
        return isinstance(self.dialog, ConfirmPrompt)

    @property
    def lists_queue(self) -> bool:
        """Whether it shows the queue."""
        return isinstance(self.dialog, QueueList)

    def leaves_to_input(self, key: str) -> bool:
        """Whether the key begins other text, which the card of a request leaves to the input."""
        return isinstance(self.dialog, ApprovalCard) and is_for_input(self.dialog, key)

    def press(self, key: str) -> bool:
        """Handle a key; False if it closed the dialog."""
        match self.dialog:
            case ApprovalCard() as card:
                pressed = press(card, "r" if self._is_low and key in GRANTING else key)
                return self._goes_on(pressed) if isinstance(pressed, ApprovalCard) else self._chosen(pressed)
            case ListPicker() as picker:
                picked = press_in_list(picker, key)
                if isinstance(picked, Picked):
                    return self._ends(picked.option)
                if picked.chosen != picker.chosen:
                    self._looked_at(picked.chosen)
                return self._goes_on(picked)
            case ConfirmPrompt() as prompt:
                confirmed = press_to_confirm(prompt, key)
                return self._ends(confirmed) if isinstance(confirmed, bool) else self._goes_on(confirmed)
            case QueueList() as waiting:
                changed = press_in_queue(waiting, key)
                if isinstance(changed, QueueList):
                    return self._goes_on(changed)
                self._then(changed)
                # The list is updated when the queue has changed.
                return isinstance(changed, QueueChange) and changed.act is QueueAct.REMOVE
            case never:
                assert_never(never)

    def rows(self, theme: Theme, drawing: DialogDrawing) -> list[str]:
        """The rows to draw; in a low window only the answers."""
        width = drawing.width
        match self.dialog:
            case ApprovalCard() as card:
                return self._card_rows(card, theme, drawing)
            case ListPicker() as picker:
                return list(picker_rows(picker, theme, width, drawing.room))
            case ConfirmPrompt() as prompt:
                return list(confirm_rows(prompt, theme, width, takes_keys=drawing.takes_keys))[-drawing.room :]
            case QueueList() as waiting:
                return list(queue_rows(waiting, theme, width, drawing.room))
            case never:
                assert_never(never)

    def _card_rows(self, card: ApprovalCard, theme: Theme, drawing: DialogDrawing) -> list[str]:
        """As much of the card as there is room for; the answers are shown whole or as keys only."""
        width, takes_keys = drawing.width, drawing.takes_keys
        for size in CARD_SIZES:
            if size.has_short_answers and card.step is not CardStep.ANSWERS:
                continue
            rows = list(card_rows(card, theme, width, size, takes_keys=takes_keys, has_draft=drawing.has_draft))
            if len(rows) <= drawing.room:
                self._is_low = size.has_short_answers
                return rows
        self._is_low = True
        return list(low_card_rows(card, theme, width, takes_keys=takes_keys, has_draft=drawing.has_draft))

    def _goes_on(self, dialog: Dialog) -> bool:
        self.dialog = dialog
        return True

    def _chosen(self, result: Answer | CardAction) -> bool:
        """An action leaves the card open: it is answered afterwards."""
        self._then(result)
        return isinstance(result, CardAction)

    def _ends(self, result: DialogResult) -> bool:
        self._then(result)
        return False
