"""What a person has written goes to the session: commands, prompts, answers, and what could be typed next."""

import asyncio
from typing import TYPE_CHECKING, Final

from robota.clients.tui.flows.entered_text import TypeAgain, Words, Written, meaning_of_entry, words_for_session
from robota.clients.tui.theme import Role
from robota.protocol.asks.answer import Answer, ApproveEdited, ApproveHunks
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    Command,
    CompletePrompt,
    NewTask,
    QueueMessage,
    Refused,
    RunSlashCommand,
)

if TYPE_CHECKING:
    from robota.clients.tui.app import ScreenConversation

LOOK_AGAIN_S: Final = 0.2
SEES_NOTHING: Final = "is not known to take images and may refuse them; options.seesImages of its profile says it does."


class Sending:
    """The way out of one conversation; what is refused is told, and stands in the input again."""

    def __init__(self, conversation: "ScreenConversation") -> None:
        self._conversation = conversation

    async def enter(self, written: Written, *, is_steering: bool = False) -> None:
        """Do what an entered text means."""
        conversation = self._conversation
        meaning = meaning_of_entry(written, conversation.view, is_steering=is_steering)
        if isinstance(meaning, RunSlashCommand) and await conversation.commands.run(meaning.line):
            return
        await self.send(words_for_session(written, conversation.view, is_steering=is_steering), written)

    async def send(self, command: Words, written: Written) -> None:
        """Send words to the session; if a task has begun or ended meanwhile, as that wants them."""
        conversation = self._conversation
        if isinstance(command, TypeAgain):
            if command.hint:
                conversation.tell(command.hint)
            return
        session = conversation.view.session
        if written.images and session is not None and not session.sees_images:
            conversation.tell(f"! {session.model} {SEES_NOTHING}", Role.WARNING)
        receipt = await conversation.session.submit(command)
        if isinstance(receipt, Refused) and receipt.code == "no_active_task" and isinstance(command, QueueMessage):
            new = NewTask(text=command.text, images=command.images, is_command=command.is_command)
            receipt = await conversation.session.submit(new)
        if isinstance(receipt, Refused):
            conversation.tell_refusal(receipt)
            conversation.input.put_back(written)
        conversation.draw_soon()

    async def submit(self, command: Command) -> bool:
        """Send a command; False if it was refused, and the person was told why."""
        receipt = await self._conversation.session.submit(command)
        if isinstance(receipt, Refused):
            self._conversation.tell_refusal(receipt)
        return isinstance(receipt, Accepted)

    def answer(self, answer: Answer) -> None:
        """Answer the request for approval."""
        conversation, approval = self._conversation, self._conversation.approval
        if approval is None:
            return
        if isinstance(answer, ApproveEdited | ApproveHunks) and approval.message.call_id is not None:
            conversation.scrollback.show_changes_of(approval.message.call_id)
        conversation.approvals.answered(approval.message.ts)
        conversation.start(self.submit(AskResponse(answer=answer, ts=approval.message.ts)))

    async def complete(self) -> None:
        """Find the words that fit at the cursor; while files are still being listed, look again."""
        conversation, area = self._conversation, self._conversation.input
        text, caret = area.text, area.caret
        receipt = await conversation.session.submit(CompletePrompt(text=text, caret=caret))
        found = receipt.completion if isinstance(receipt, Accepted) else None
        area.offer(text, caret, found)
        conversation.region.redraw()
        if found is not None and not found.is_complete:
            await asyncio.sleep(LOOK_AGAIN_S)
            if (text, caret) == (area.text, area.caret):
                await self.complete()
