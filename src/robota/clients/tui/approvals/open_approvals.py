"""The requests for approval that wait: one is shown, the others come after it in their order."""

import time
from typing import TYPE_CHECKING, Final

from robota.clients.tui.flows.input_purpose import InputPurpose
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.message import Message

if TYPE_CHECKING:
    from robota.clients.tui.app import ScreenConversation
    from robota.clients.tui.approvals.pending_approval import PendingApproval

# In a lower window a command is printed above its card instead of in it.
LOWEST_WITH_COMMAND: Final = 24


class OpenApprovals:
    """The open requests. Calls that run at the same time may ask at the same time."""

    def __init__(self, conversation: "ScreenConversation") -> None:
        self._conversation = conversation
        self.shown: PendingApproval | None = None
        self._waiting: list[tuple[ApprovalAsk, Message]] = []

    def put(self, asked: ApprovalAsk, message: Message) -> None:
        """Show the request, or queue it until the shown one is answered."""
        if self.shown is None:
            self._show(asked, message)
        else:
            self._waiting.append((asked, message))

    def answered(self, ts: int) -> None:
        """Remove a request that was answered, here or elsewhere."""
        self._waiting = [each for each in self._waiting if each[1].ts != ts]
        if self.shown is not None and self.shown.message.ts == ts:
            self.close()

    def withdrawn(self) -> None:
        """Remove all requests: the task was stopped, or asks something else."""
        self._waiting.clear()
        self.close()

    def close(self) -> None:
        """Remove it from the screen, restore the draft in the input, and show the next request."""
        conversation, shown = self._conversation, self.shown
        if shown is None:
            return
        self.shown = conversation.dialog = None
        if shown.purpose is not InputPurpose.PROMPT:
            conversation.cards.go_back(shown)
        if self._waiting:
            self._show(*self._waiting.pop(0))
        conversation.draw_soon()

    def _show(self, asked: ApprovalAsk, message: Message) -> None:
        # Loaded with the first request, not with the first screen.
        from robota.clients.tui.approvals.pending_approval import PendingApproval
        from robota.clients.tui.widgets.approval_card import short_command

        conversation = self._conversation
        self.shown = PendingApproval(asked, message, conversation.theme, time.monotonic())
        if conversation.region.height < LOWEST_WITH_COMMAND or not short_command(asked, conversation.width):
            conversation.scrollback.block(self.shown.first_rows(conversation.width), has_gap=True)
        conversation.cards.show(self.shown)
