"""The text that is being written: its history, its pastes, and the popup that completes it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from robota.clients.terminal.width import columns_of
from robota.clients.tui.flows.completion_popup import CompletionPopup
from robota.clients.tui.flows.entered_text import Written
from robota.clients.tui.flows.paste_chips import PasteChips
from robota.clients.tui.flows.prompt_history import PromptHistory
from robota.protocol.completion import CandidateKind


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """The text of the input, with labels for pastes, and the number of characters before the cursor.

    `completions` belong to the text and caret that they were requested for. `completed_file` is the text and the caret
    right after a file name was completed.
    """

    text: str = ""
    caret: int = 0
    history: PromptHistory = PromptHistory()
    chips: PasteChips = PasteChips()
    completions: CompletionPopup | None = None
    completed_file: tuple[str, int] | None = None

    @property
    def position(self) -> tuple[str, int]:
        """The text and the caret."""
        return self.text, self.caret

    @property
    def expanded(self) -> str:
        """The text with pastes in place of their labels."""
        return self.chips.expanded(self.text)

    @property
    def pastes(self) -> tuple[tuple[str, str], ...]:
        """The labels in the text, and the texts that they replace."""
        return self.chips.labelled(self.text)

    # Changes of the text.

    def put(self, text: str, caret: int | None = None) -> "Draft":
        """With another text, and the cursor at its end or at the caret."""
        return replace(self, text=text, caret=len(text) if caret is None else caret, completions=None)

    def inserted(self, text: str) -> "Draft":
        """With a text inserted at the cursor."""
        caret = self.caret + len(text)
        return replace(self, text=self.text[: self.caret] + text + self.text[self.caret :], caret=caret)

    def pasted(self, text: str) -> "Draft":
        """With a paste at the cursor, or its label."""
        chips, inserted = self.chips.pasted(text)
        return replace(self, chips=chips).inserted(inserted)

    def with_image(self, data_url: str) -> "Draft":
        """With the label of an image at the cursor."""
        chips, label = self.chips.with_image(data_url)
        return replace(self, chips=chips).inserted(f"{label} ")

    def _erased(self, count: int) -> "Draft":
        start = self.caret - count
        return replace(self, text=self.text[:start] + self.text[self.caret :], caret=start)

    @property
    def is_behind_label(self) -> bool:
        """Whether the cursor is right after the label of a paste or an image."""
        return self.text[self.caret - 1 : self.caret] == "]" and bool(self.chips.label_before(self.text, self.caret))

    def without_label(self) -> "Draft":
        """Without the label before the cursor: a part of a label means nothing."""
        return self._erased(len(self.chips.label_before(self.text, self.caret)))

    # Sent, cleared and restored texts.

    def taken(self) -> tuple["Draft", Written]:
        """Empty, and what was written with its pastes and images, which is in the history now."""
        written = Written(text=self.expanded, images=self.chips.shown_images(self.text))
        draft = replace(self, history=self.history.sent(written.text), chips=self.chips.forgotten())
        return draft.put(""), written

    def cleared(self) -> "Draft":
        """Empty; the text is the newest entry of the history."""
        return replace(self, history=self.history.sent(self.expanded), chips=self.chips.cleared()).put("")

    def replaces(self, text: str) -> bool:
        """Whether there is another text, which `replaced` would put into the history."""
        return bool(self.expanded.strip()) and self.expanded != text

    def replaced(self, text: str) -> "Draft":
        """With another text; the one before is the newest entry of the history."""
        kept = replace(self, history=self.history.sent(self.expanded)) if self.replaces(text) else self
        return kept.put(text)

    def restored(self, written: Written) -> "Draft":
        """With a text that was not sent or was withdrawn, before what was written in the meantime."""
        chips, text = self.chips.restored(written.text, written.images)
        return replace(self, chips=chips).put("\n".join(part for part in (text, self.text) if part))

    # The history.

    def remembering(self, prompts: Sequence[str]) -> "Draft":
        """With the prompts of the resumed session as the newest of the history."""
        history = self.history
        for prompt in prompts:
            history = history.sent(prompt)
        return replace(self, history=history)

    def older(self) -> "Draft":
        """With the previous prompt."""
        history = self.history.older(self.text)
        return replace(self, history=history).put(history.text)

    def newer(self) -> "Draft":
        """With the next prompt, and after the newest the text that was being written."""
        if self.history.position is None:
            return self
        history = self.history.newer(self.text)
        return replace(self, history=history).put(history.text)

    def moved_by_row(self, by: int, columns: int) -> "Draft | None":
        """With the cursor moved by a row of the text; None if there is none, or a prompt of the history is unchanged.

        `columns` is the width of a row.
        """
        is_unchanged = self.history.position is not None and self.text == self.history.text
        if not self.text or (is_unchanged and self.caret == len(self.text)):
            return None
        caret = moved_by_row(self.text, self.caret, columns, by)
        return None if caret is None else replace(self, caret=caret)

    # Completion.

    @property
    def popup(self) -> CompletionPopup | None:
        """The completions at the cursor, if they were requested for the current text."""
        popup = self.completions
        return popup if popup is not None and (popup.text, popup.caret) == self.position else None

    def without_popup(self) -> "Draft":
        """With no completions until something else is typed."""
        return replace(self, completions=None)

    def moved_in_popup(self, by: int) -> "Draft":
        """With the completion above or below selected."""
        return self if self.completions is None else replace(self, completions=self.completions.moved(by))

    def completed(self) -> "Draft":
        """With the selected completion inserted."""
        popup = self.popup
        if popup is None:
            return self
        draft = self.put(*popup.taken())
        is_file = popup.chosen.kind is CandidateKind.FILE and draft.text[: draft.caret].endswith(" ")
        return replace(draft, completed_file=draft.position if is_file else None)

    def with_range(self) -> "Draft":
        """With a colon instead of the space after a completed file: line numbers follow."""
        return self._erased(1).inserted(":")


def moved_by_row(text: str, caret: int, room: int, by: int) -> int | None:
    """The caret one row above (-1) or below (1), in the same column if that row is long enough; None at the edge.

    `room` is the number of columns in a row; longer lines are wrapped where the next character does not fit.
    """
    rows = list(pairwise([*_row_starts(text, max(1, room)), len(text) + 1]))
    row = max(index for index, (begin, _) in enumerate(rows) if begin <= caret)
    if not 0 <= row + by < len(rows):
        return None
    column = columns_of(text[rows[row][0] : caret])
    begin, end = rows[row + by]
    index = begin
    while index < end - 1 and columns_of(text[begin : index + 1]) <= column:
        index += 1
    return index


def _row_starts(text: str, room: int) -> Iterator[int]:
    yield 0
    used = 0
    for index, character in enumerate(text):
        if character == "\n":
            used = 0
            yield index + 1
            continue
        columns = columns_of(character)
        if used and used + columns > room:
            used = 0
            yield index
        used += columns
