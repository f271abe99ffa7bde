"""Long pastes stand in the input as a label and become their text again when the prompt is sent."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from robota.clients.terminal.keys import plain_text

LABEL: Final = re.compile(r"\[Pasted text #(\d+) \+\d+ lines\]")
LONGEST_LINE: Final = 1000


class PasteChips(msgspec.Struct, frozen=True, kw_only=True):
    """The texts behind the labels, by number. Numbers are never used twice in a conversation."""

    texts: Mapping[int, str] = {}
    last_number: int = 0

    def pasted(self, text: str) -> tuple["PasteChips", str]:
        """What goes into the input for a paste: the text itself, or a label if it is long or has several lines."""
        plain = plain_text(text)
        if "\n" not in plain and len(plain) <= LONGEST_LINE:
            return self, plain
        number = self.last_number + 1
        lines = plain.count("\n") + 1
        return (
            PasteChips(texts={**self.texts, number: plain}, last_number=number),
            f"[Pasted text #{number} +{lines} lines]",
        )

    def expanded(self, text: str) -> str:
        """The text with the pastes in place of their labels. A label that nobody pasted stays as it is."""
        return LABEL.sub(lambda found: self.texts.get(int(found[1]), found[0]), text)

    def forgotten(self) -> "PasteChips":
        """After the prompt was sent."""
        return PasteChips(last_number=self.last_number)
