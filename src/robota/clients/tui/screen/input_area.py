"""The text that is being written: its history, its pastes, and the popup that completes it."""

from collections.abc import Callable, Sequence

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from robota.clients.tui.flows.completion_popup import CompletionPopup, command_popup
from robota.clients.tui.flows.paste_chips import PasteChips
from robota.clients.tui.flows.prompt_history import PromptHistory
from robota.protocol.slash_commands import SlashCommandInfo


class InputArea:
    """Applies what the flows say to the buffer that prompt_toolkit edits."""

    def __init__(self, buffer: Buffer, prompts: Sequence[str], on_typed: Callable[[], None]) -> None:
        self._buffer = buffer
        self._history = PromptHistory(prompts=tuple(prompts))
        self._chips = PasteChips()
        self._on_typed = on_typed
        self._is_ours = False  # a change that we make ourselves is nobody's typing
        self.commands: Sequence[SlashCommandInfo] = ()
        self.popup: CompletionPopup | None = None
        buffer.on_text_changed += lambda _: self._changed()

    @property
    def text(self) -> str:
        """What stands in the input, with labels for pastes."""
        return self._buffer.text

    @property
    def history(self) -> PromptHistory:
        """The prompts that were sent."""
        return self._history

    def put(self, text: str) -> None:
        """Let the input show this text, the cursor at its end."""
        self._is_ours = True
        self._buffer.set_document(Document(text), bypass_readonly=True)
        self._is_ours = False
        self.popup = None

    def take(self) -> str:
        """The text with its pastes, which is over then and part of the history."""
        text = self.expanded()
        self._history = self._history.sent(text)
        self._chips = self._chips.forgotten()
        self.put("")
        return text

    def expanded(self) -> str:
        """The text with pastes in place of their labels."""
        return self._chips.expanded(self._buffer.text)

    def paste(self, text: str) -> None:
        """Put a paste in at the cursor."""
        self._chips, inserted = self._chips.pasted(text)
        self._buffer.insert_text(inserted)

    def older(self) -> None:
        """Show the prompt before."""
        self._history = self._history.older(self._buffer.text)
        self.put(self._history.text)

    def newer(self) -> None:
        """Show the prompt after, and after the newest what was being written."""
        if self._history.place is not None:
            self._history = self._history.newer()
            self.put(self._history.text)

    def move_in_popup(self, by: int) -> None:
        """Choose the candidate above or below."""
        if self.popup is not None:
            self.popup = self.popup.moved(by)

    def take_candidate(self) -> None:
        """Put the chosen candidate in, ready for more words."""
        popup = self.popup
        if popup is not None:
            self._buffer.delete_before_cursor(len(popup.typed))
            self._buffer.insert_text(f"{popup.chosen.text} ")

    def _changed(self) -> None:
        if self._is_ours:
            return
        document = self._buffer.document
        at_end = not document.text_after_cursor
        self.popup = command_popup(document.text_before_cursor, self.commands) if at_end else None
        self._on_typed()
