"""The text that is being written: its history, its pastes, and the popup that completes it."""

from collections.abc import Callable, Sequence

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from robota.clients.tui.flows.completion_popup import CompletionPopup, popup_for, wants_completion
from robota.clients.tui.flows.entered_text import Written
from robota.clients.tui.flows.paste_chips import PasteChips
from robota.clients.tui.flows.prompt_history import PromptHistory
from robota.protocol.completion import CandidateKind, PromptCompletion


class InputArea:
    """Applies the results of the flows to the buffer that prompt_toolkit edits."""

    def __init__(self, buffer: Buffer, prompts: Sequence[str], on_typed: Callable[[], None]) -> None:
        self._buffer = buffer
        self._history = PromptHistory(prompts=tuple(prompts))
        self._chips = PasteChips()
        self._on_typed = on_typed
        self._is_ours = False  # our own change of the buffer is not typing
        self._popup: CompletionPopup | None = None
        self._file_taken: tuple[str, int] | None = None  # the text and the caret after a file was inserted
        buffer.on_text_changed += lambda _: self._changed()

    @property
    def text(self) -> str:
        """The text of the input, with labels for pastes."""
        return self._buffer.text

    @property
    def history(self) -> PromptHistory:
        """The prompts that were sent."""
        return self._history

    @property
    def caret(self) -> int:
        """The number of characters before the cursor."""
        return self._buffer.cursor_position

    def put(self, text: str, caret: int | None = None) -> None:
        """Set the text of the input, with the cursor at its end or at the caret."""
        self._is_ours = True
        self._buffer.set_document(Document(text, caret), bypass_readonly=True)
        self._is_ours = False
        self._popup = None

    def take(self) -> Written:
        """Take the input with its pastes and images, and add it to the history."""
        written = Written(text=self.expanded(), images=self._chips.shown_images(self._buffer.text))
        self._history = self._history.sent(written.text)
        self._chips = self._chips.forgotten()
        self.put("")
        return written

    def clear(self) -> str:
        """Clear the input; its text is returned, and becomes the newest entry of the history."""
        text = self.expanded()
        self._keep(text)
        self._chips = self._chips.cleared()
        self.put("")
        return text

    def put_instead(self, text: str) -> bool:
        """Replace the text of the input. Returns whether there was another text, now the newest in the history."""
        before = self.expanded()
        is_kept = bool(before.strip()) and before != text
        if is_kept:
            self._keep(before)
        self.put(text)
        return is_kept

    def _keep(self, text: str) -> None:
        self._history = self._history.sent(text)

    def put_back(self, written: Written) -> None:
        """Put back a text that was not sent or was withdrawn, and keep what was written in the meantime."""
        self._chips, text = self._chips.restored(written.text, written.images)
        self.put("\n".join(part for part in (text, self.text) if part))

    def remember(self, prompts: Sequence[str]) -> None:
        """Add the prompts of the resumed session as the newest of the history."""
        for prompt in prompts:
            self._history = self._history.sent(prompt)

    def expanded(self) -> str:
        """The text with pastes in place of their labels."""
        return self._chips.expanded(self._buffer.text)

    def paste(self, text: str) -> None:
        """Insert a paste at the cursor."""
        self._chips, inserted = self._chips.pasted(text)
        self._buffer.insert_text(inserted)

    def insert(self, text: str) -> None:
        """Insert text at the cursor."""
        self._buffer.insert_text(text)

    def paste_image(self, data_url: str) -> None:
        """Insert the label of an image at the cursor."""
        self._chips, label = self._chips.with_image(data_url)
        self._buffer.insert_text(f"{label} ")

    @property
    def is_behind_label(self) -> bool:
        """Whether the cursor is right after the label of a paste or an image."""
        return bool(self._chips.label_before(self.text, self.caret))

    def erase_label(self) -> None:
        """Delete the whole label before the cursor: a part of a label means nothing."""
        self._buffer.delete_before_cursor(len(self._chips.label_before(self.text, self.caret)))

    def move_by_row(self, by: int, room: int) -> bool:
        """Move the cursor by a row of the text; False if there is none, or a prompt of the history was not touched."""
        is_untouched = self._history.place is not None and self.text == self._history.text
        if is_untouched and self.caret == len(self.text):
            return False
        from robota.clients.tui.flows.visual_rows import moved_by_row

        place = moved_by_row(self.text, self.caret, room, by)
        if place is not None:
            self._buffer.cursor_position = place
        return place is not None

    def older(self) -> None:
        """Show the prompt before."""
        self._history = self._history.older(self._buffer.text)
        self.put(self._history.text)

    def newer(self) -> None:
        """Show the next prompt, and after the newest the text that was being written."""
        if self._history.place is not None:
            self._history = self._history.newer(self._buffer.text)
            self.put(self._history.text)

    @property
    def popup(self) -> CompletionPopup | None:
        """The completions at the cursor, if they were computed for the current text."""
        popup = self._popup
        return popup if popup is not None and (popup.text, popup.caret) == (self.text, self.caret) else None

    @property
    def wants_completion(self) -> bool:
        """Whether something is being written that can be completed."""
        return wants_completion(self.text, self.caret)

    def offer(self, text: str, caret: int, completion: PromptCompletion | None) -> None:
        """Show completions for this text; they are dropped if it has changed since."""
        self._popup = popup_for(text, caret, completion)

    def close_popup(self) -> None:
        """Offer nothing until something else is typed."""
        self._popup = None

    def move_in_popup(self, by: int) -> None:
        """Select the word above or below."""
        if self._popup is not None:
            self._popup = self._popup.moved(by)

    def take_candidate(self) -> None:
        """Insert the selected word."""
        if self.popup is not None:
            is_file = self.popup.chosen.kind is CandidateKind.FILE
            self.put(*self.popup.taken())
            self._file_taken = (self.text, self.caret) if is_file and self.text[: self.caret].endswith(" ") else None
            self._on_typed()

    @property
    def is_behind_file(self) -> bool:
        """Whether a file was just inserted, with a space after it."""
        return self._file_taken == (self.text, self.caret)

    def begin_range(self) -> None:
        """Replace that space by a colon: the numbers of lines follow."""
        self._buffer.delete_before_cursor()
        self._buffer.insert_text(":")

    def _changed(self) -> None:
        if not self._is_ours:
            self._on_typed()
