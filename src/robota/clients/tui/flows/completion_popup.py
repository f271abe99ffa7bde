"""The completion popup under the input: the selected word, and the effect of Tab and Enter."""

import re
from enum import Enum, auto
from typing import Final

import msgspec
from msgspec.structs import replace

from robota.clients.tui.flows.selection import Selection
from robota.protocol.completion import CandidateKind, CompletionCandidate, PromptCompletion

POPUP_ROWS: Final = 8
MENTION: Final = r"(?:^|\s)@\S*$"


class PopupEnter(Enum):
    """What Enter does while the popup is open."""

    SEND = auto()  # the text unchanged
    TAKE = auto()  # insert the word and keep editing
    TAKE_AND_SEND = auto()


class CompletionPopup(msgspec.Struct, frozen=True, kw_only=True):
    """Completions at the caret. `is_moved`: the user has moved the selection."""

    text: str
    caret: int
    completion: PromptCompletion
    rows: Selection
    is_moved: bool = False

    @property
    def chosen(self) -> CompletionCandidate:
        """The word that Tab and Enter insert."""
        return self.completion.candidates[self.rows.index or 0]

    @property
    def typed(self) -> str:
        """The part that was typed."""
        return self.text[self.completion.start : self.caret]

    def moved(self, by: int) -> "CompletionPopup":
        """The popup with the word above or below selected."""
        return replace(self, rows=self.rows.moved(by), is_moved=True)

    def taken(self) -> tuple[str, int]:
        """The text with the word inserted, and the caret after it."""
        before, after = self.text[: self.completion.start], self.text[self.completion.end :]
        insert = self.chosen.insert
        if insert.endswith(" ") and after.startswith(" "):
            after = after[1:]
        return before + insert + after, len(before + insert)

    def on_enter(self) -> PopupEnter:
        """A command without arguments runs at once; a completely typed word is sent unchanged."""
        is_command = self.chosen.kind in (CandidateKind.COMMAND, CandidateKind.ARGUMENT)
        is_whole = self.typed == self.chosen.insert.strip()
        if not self.is_moved and (is_whole or (is_command and not self.typed)):
            return PopupEnter.SEND
        if not is_command:
            return PopupEnter.TAKE
        return PopupEnter.TAKE if self.chosen.insert.endswith(" ") else PopupEnter.TAKE_AND_SEND


def wants_completion(text: str, caret: int) -> bool:
    """Whether something is being typed at the caret that can be completed: a command, or a mention."""
    before = text[:caret]
    return (before.startswith("/") and "\n" not in before) or re.search(MENTION, before) is not None


def popup_for(text: str, caret: int, completion: PromptCompletion | None) -> CompletionPopup | None:
    """The popup with these words; None if there are none."""
    if completion is None or not completion.candidates:
        return None
    rows = Selection(count=len(completion.candidates), height=POPUP_ROWS)
    return CompletionPopup(text=text, caret=caret, completion=completion, rows=rows)
