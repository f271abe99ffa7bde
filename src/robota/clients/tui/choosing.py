"""Show lists and questions to the user, and run what they choose."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from robota.clients.tui.dialogs import OpenDialog
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt
from robota.clients.tui.flows.list_picker import picker_for
from robota.clients.tui.theme import Role
from robota.protocol.slash_commands import CommandChoice, CommandOption

if TYPE_CHECKING:
    from robota.clients.tui.app import ScreenConversation

# In a lower window, a list is shown above the input, without a preview.
LOWEST_WITH_PREVIEW: Final = 12
ASKED_ALREADY: Final = "Answer the open question first; then type the command again."

Taken = Callable[[CommandOption | None], None]


class Choosing:
    """The lists and questions of one conversation."""

    def __init__(self, conversation: "ScreenConversation") -> None:
        self._conversation = conversation

    def offer(self, choice: CommandChoice, opened_by: tuple[str, ...]) -> None:
        """Let the user choose from a command's options. `opened_by` are the commands of the lists that led here.

        Esc returns to the previous list. Its command runs again, because something may have changed in between.
        """

        def taken(option: CommandOption | None) -> None:
            if option is not None:
                self._run(option.line, opened_by)
            elif len(opened_by) > 1:
                self._run(opened_by[-2], opened_by[:-2])

        self.open_list(choice, taken)

    def open_list(self, choice: CommandChoice, taken: Taken) -> None:
        """Let the user choose one; `taken` is called with it, or with None if they close the list."""
        conversation = self._conversation
        *above, title = choice.title.split("\n")
        if above:  # a long introduction is printed with the conversation
            conversation.tell("\n".join(above), Role.PLAIN)
            choice = msgspec.structs.replace(choice, title=title)
        has_previews = any(option.preview for option in choice.options)
        if has_previews and conversation.approval is None and conversation.region.height >= LOWEST_WITH_PREVIEW:
            conversation.start(self._browse(choice, taken))
        elif any(option.appearance is not None for option in choice.options):
            picker = picker_for(choice)
            self._open(OpenDialog(picker, lambda end: self._tried(end, taken), self._try_out))
            self._try_out(picker.chosen)
        else:
            self._open(OpenDialog(picker_for(choice), lambda end: taken(_option(end))))

    def open_question(
        self, prompt: ConfirmPrompt, then: Callable[[], None], otherwise: Callable[[], None] | None = None
    ) -> None:
        """Ask yes or no; `then` is called after a yes, `otherwise` after anything else."""
        not_done = otherwise or (lambda: self._conversation.tell("Nothing was changed."))
        self._open(OpenDialog(prompt, lambda answer: then() if answer is True else not_done()))

    def _run(self, line: str, opened_by: tuple[str, ...]) -> None:
        """Run the chosen command; if it needs arguments, put it into the input."""
        conversation = self._conversation
        if line.endswith(" "):
            conversation.put_instead(line)
            conversation.draw_soon()
        else:
            conversation.start(conversation.commands.run(line, opened_by))

    async def _browse(self, choice: CommandChoice, taken: Taken) -> None:
        conversation = self._conversation
        taken(
            await conversation.screens.pick(
                choice, lambda option, browser: conversation.start(conversation.screens.load_preview(option, browser))
            )
        )

    def _try_out(self, option: CommandOption | None) -> None:
        self._conversation.looks.try_out(None if option is None else option.appearance)

    def _tried(self, end: object, taken: Taken) -> None:
        option = _option(end)
        if option is None:
            self._conversation.looks.try_out(None)
        taken(option)

    def _open(self, dialog: OpenDialog) -> None:
        if self._conversation.approval is not None:
            self._conversation.tell(ASKED_ALREADY)
            return
        self._conversation.dialog = dialog
        if dialog.is_question:
            self._conversation.keys.wake_after_pause()
        self._conversation.draw_soon()


def _option(end: object) -> CommandOption | None:
    return end if isinstance(end, CommandOption) else None
