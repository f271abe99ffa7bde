"""What keys do with words that wait: take them back, remove them, send them at once after all."""

from typing import TYPE_CHECKING

from robota.protocol.commands import Accepted, EditQueuedMessage, RemoveQueuedMessage
from robota.protocol.message import QueuedMessage

if TYPE_CHECKING:
    from robota.clients.tui.app import ScreenConversation


class QueueKeys:
    """The queue of one conversation, as its person changes it."""

    def __init__(self, conversation: "ScreenConversation") -> None:
        self._conversation = conversation

    async def edit_last(self) -> None:
        """Write the newest queued words again, to change them."""
        conversation = self._conversation
        if conversation.view.queue:
            waiting = conversation.view.queue[-1]
            if await conversation.sending.submit(RemoveQueuedMessage(id=waiting.id)):
                conversation.input.put(_as_typed(waiting))
                conversation.draw_soon()

    async def remove_last(self) -> None:
        """Take the newest queued words out; the arrow keys still find them."""
        queue = self._conversation.view.queue
        if queue and await self._conversation.sending.submit(RemoveQueuedMessage(id=queue[-1].id)):
            self._conversation.hint = "Removed from the queue. Up finds it among the prompts sent before."
            self._conversation.draw_soon()

    async def send_now(self) -> None:
        """Let everything that waits for the end of the turn go with the next request."""
        for waiting in self._conversation.view.queue:
            if waiting.after_turn:
                change = EditQueuedMessage(id=waiting.id, text=waiting.text, images=waiting.images, after_turn=False)
                await self._conversation.sending.submit(change)

    async def take_all_back(self) -> None:
        """Write everything that waits again, for the person to send or to rub out."""
        conversation = self._conversation
        for waiting in conversation.view.queue:
            if isinstance(await conversation.session.submit(RemoveQueuedMessage(id=waiting.id)), Accepted):
                conversation.input.put(f"{conversation.input.text}\n{_as_typed(waiting)}".lstrip("\n"))
        conversation.draw_soon()


def _as_typed(waiting: QueuedMessage) -> str:
    return f"!{waiting.text}" if waiting.is_command else waiting.text
