"""Key actions for the queue: edit entries, remove them, or send them at once."""

from typing import TYPE_CHECKING

from robota.clients.tui.dialogs import DialogResult, OpenDialog
from robota.clients.tui.flows.entered_text import Written
from robota.clients.tui.flows.queue_list import (
    QueueAct,
    QueueChange,
    QueueLeft,
    QueueList,
    queue_list,
    with_entries,
)
from robota.protocol.commands import Accepted, EditQueuedMessage, RemoveQueuedMessage
from robota.protocol.message import QueuedMessage

if TYPE_CHECKING:
    from robota.clients.tui.app import ScreenConversation


class QueueKeys:
    """The queue of one conversation, as the user edits it."""

    def __init__(self, conversation: "ScreenConversation") -> None:
        self._conversation = conversation

    def open(self) -> None:
        """Let the user edit the queue: a single entry directly, several in a list."""
        conversation = self._conversation
        if len(conversation.view.queue) > 1:
            conversation.dialog = OpenDialog(queue_list(conversation.view.queue), self._changed)
        elif conversation.view.queue:
            conversation.start(self._edit(conversation.view.queue[0]))

    def refresh(self) -> None:
        """Update the open list after the queue has changed."""
        dialog = self._conversation.dialog
        if dialog is not None and isinstance(dialog.dialog, QueueList):
            shown = with_entries(dialog.dialog, self._conversation.view.queue)
            self._conversation.dialog = None if shown is None else OpenDialog(shown, self._changed)

    def remove_newest(self) -> None:
        """Remove the newest message from the queue."""
        if self._conversation.view.queue:
            self._conversation.start(self._remove(self._conversation.view.queue[-1]))

    async def send_all_now(self) -> None:
        """Send everything that waits for the end of the turn with the next request."""
        for waiting in self._conversation.view.queue:
            await self._send_now(waiting)

    def _changed(self, result: DialogResult) -> None:
        match result:
            case QueueChange(QueueAct.EDIT, entry):
                self._conversation.start(self._edit(entry))
            case QueueChange(QueueAct.REMOVE, entry):
                self._conversation.start(self._remove(entry))
            case QueueChange(QueueAct.SEND_NOW, entry):
                self._conversation.start(self._send_now(entry))
            case QueueLeft(typed):
                self._conversation.input.insert(typed)

    async def _edit(self, waiting: QueuedMessage) -> None:
        """Move a queued message to the input for editing."""
        conversation = self._conversation
        if await conversation.sending.submit(RemoveQueuedMessage(id=waiting.id)):
            conversation.input.put_back(Written(text=_as_typed(waiting), images=waiting.images))
            conversation.draw_soon()

    async def _remove(self, waiting: QueuedMessage) -> None:
        """Remove a queued message; it stays in the history."""
        if await self._conversation.sending.submit(RemoveQueuedMessage(id=waiting.id)):
            self._conversation.show_hint("Removed from the queue. Press Ctrl+R to find it.")
            self._conversation.draw_soon()

    async def _send_now(self, waiting: QueuedMessage) -> None:
        if waiting.after_turn:
            change = EditQueuedMessage(id=waiting.id, text=waiting.text, images=waiting.images, after_turn=False)
            await self._conversation.sending.submit(change)

    async def take_all_back(self) -> None:
        """Put the whole queue back into the input, for the user to send or delete."""
        conversation = self._conversation
        for waiting in reversed(conversation.view.queue):
            if isinstance(await conversation.session.submit(RemoveQueuedMessage(id=waiting.id)), Accepted):
                conversation.input.put_back(Written(text=_as_typed(waiting), images=waiting.images))
        conversation.draw_soon()


def _as_typed(waiting: QueuedMessage) -> str:
    return f"!{waiting.text}" if waiting.is_command else waiting.text
