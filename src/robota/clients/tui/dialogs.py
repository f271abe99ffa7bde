"""What is open between the conversation and the input: a request for approval, a list, a question."""

from collections.abc import Callable
from typing import assert_never

from robota.clients.tui.flows.approval_keys import ApprovalCard, CardWish, press
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt, press_to_confirm
from robota.clients.tui.flows.list_picker import ListPicker, Picked, press_in_list
from robota.clients.tui.theme import Theme
from robota.clients.tui.widgets.approval_card import card_rows
from robota.clients.tui.widgets.lists import confirm_rows, picker_rows
from robota.protocol.asks.answer import Answer
from robota.protocol.slash_commands import CommandOption

Dialog = ApprovalCard | ListPicker | ConfirmPrompt


class OpenDialog:
    """One dialog, and what to do with its result."""

    def __init__(self, dialog: Dialog, then: Callable[[Answer | CardWish | CommandOption | bool | None], None]) -> None:
        self.dialog = dialog
        self._then = then

    def press(self, key: str) -> bool:
        """Take a key; False if that was the end of the dialog."""
        match self.dialog:
            case ApprovalCard() as card:
                pressed = press(card, key)
                return self._goes_on(pressed) if isinstance(pressed, ApprovalCard) else self._wished(pressed)
            case ListPicker() as picker:
                picked = press_in_list(picker, key)
                return self._ends(picked.option) if isinstance(picked, Picked) else self._goes_on(picked)
            case ConfirmPrompt() as prompt:
                confirmed = press_to_confirm(prompt, key)
                return self._ends(confirmed) if isinstance(confirmed, bool) else self._goes_on(confirmed)
            case never:
                assert_never(never)

    def rows(self, theme: Theme, width: int, *, takes_keys: bool, has_draft: bool) -> list[str]:
        """What is drawn of it."""
        match self.dialog:
            case ApprovalCard() as card:
                return list(card_rows(card, theme, width, takes_keys=takes_keys, has_draft=has_draft))
            case ListPicker() as picker:
                return list(picker_rows(picker, theme, width))
            case ConfirmPrompt() as prompt:
                return list(confirm_rows(prompt, theme, width))
            case never:
                assert_never(never)

    def _goes_on(self, dialog: Dialog) -> bool:
        self.dialog = dialog
        return True

    def _wished(self, result: Answer | CardWish) -> bool:
        """A wish leaves the card open: it is answered afterwards."""
        self._then(result)
        return isinstance(result, CardWish)

    def _ends(self, result: CommandOption | bool | None) -> bool:
        self._then(result)
        return False
