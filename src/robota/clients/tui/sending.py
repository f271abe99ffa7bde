"""Send the user's input to the session: slash commands, prompts, answers, completion requests."""

import asyncio
from typing import TYPE_CHECKING, Final

from robota.clients.tui.flows.entered_text import (
    TypeAgain,
    Words,
    Written,
    blocking_ask,
    meaning_of_entry,
    words_for_session,
)
from robota.clients.tui.theme import Role
from robota.protocol.asks.answer import Answer, ApproveEdited, ApproveHunks
from robota.protocol.asks.ask import ElicitationAsk
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    Command,
    CompletePrompt,
    NewTask,
    QueueMessage,
    Receipt,
    Refused,
    RunSlashCommand,
)

if TYPE_CHECKING:
    from robota.clients.tui.app import ScreenConversation

RETRY_S: Final = 0.2
NO_IMAGES: Final = (
    "is not known to support images and may reject them; set options.seesImages in its profile if it does."
)


class Sending:
    """Sends input of one conversation. A refusal is shown, and the text goes back to the input."""

    def __init__(self, conversation: "ScreenConversation") -> None:
        self._conversation = conversation

    async def enter(self, written: Written, *, is_steering: bool = False) -> None:
        """Send an entered text as what it means: a slash command, a prompt, an answer."""
        conversation = self._conversation
        meaning = meaning_of_entry(written, conversation.view, is_steering=is_steering)
        if isinstance(meaning, RunSlashCommand) and await conversation.commands.run(meaning.line):
            return
        await self.send(words_for_session(written, conversation.view, is_steering=is_steering), written)

    async def send(self, command: Words, written: Written) -> None:
        """Send text to the session; if a task has ended or begun meanwhile, as a new task or to wait for its turn."""
        conversation = self._conversation
        if isinstance(command, TypeAgain):
            if command.hint:
                conversation.tell(command.hint)
            if not written.is_empty:
                conversation.input.put_back(written)
                conversation.draw_soon()
            return
        session = conversation.view.session
        if written.images and session is not None and not session.sees_images:
            conversation.tell(f"! {session.model} {NO_IMAGES}", Role.WARNING)
        ask = blocking_ask(conversation.view)
        if isinstance(command, AskResponse) and ask is not None and isinstance(ask.asked, ElicitationAsk):
            conversation.show_entered(written.text)  # other answers have a separate row
        receipt = await conversation.session.submit(command)
        instead = _instead(command, receipt)
        if instead is not None:
            receipt = await conversation.session.submit(instead)
        if isinstance(receipt, Refused):
            conversation.show_refusal(receipt)
            conversation.input.put_back(written)
        conversation.draw_soon()

    async def submit(self, command: Command) -> bool:
        """Send a command; False if it was refused, which is shown."""
        receipt = await self._conversation.session.submit(command)
        if isinstance(receipt, Refused):
            self._conversation.show_refusal(receipt)
        return isinstance(receipt, Accepted)

    def answer(self, answer: Answer) -> None:
        """Answer the approval that is shown."""
        conversation, approval = self._conversation, self._conversation.approval
        if approval is None:
            return
        if isinstance(answer, ApproveEdited | ApproveHunks) and approval.message.call_id is not None:
            conversation.scrollback.show_changes_of(approval.message.call_id)
        conversation.approvals.answered(approval.message.ts)
        conversation.start(self.submit(AskResponse(answer=answer, ts=approval.message.ts)))

    async def complete(self) -> None:
        """Request completions at the cursor; repeat while files are still being indexed."""
        conversation, area = self._conversation, self._conversation.input
        text, caret = area.text, area.caret
        receipt = await conversation.session.submit(CompletePrompt(text=text, caret=caret))
        found = receipt.completion if isinstance(receipt, Accepted) else None
        area.offer(text, caret, found)
        conversation.region.redraw()
        if found is not None and not found.is_complete:
            await asyncio.sleep(RETRY_S)
            if (text, caret) == (area.text, area.caret):
                await self.complete()


def _instead(command: Words, receipt: Receipt) -> NewTask | QueueMessage | None:
    """What to send after a refusal because the state of the task was not known here yet."""
    match receipt, command:
        case Refused(code="no_active_task"), QueueMessage(text=text, images=images, is_command=is_command):
            return NewTask(text=text, images=images, is_command=is_command)
        case Refused(code="task_busy"), NewTask(text=text, images=images, is_command=is_command):
            return QueueMessage(text=text, images=images, after_turn=True, is_command=is_command)
        case _:
            return None
