"""A text that a person decides about: nothing in it is hidden, left out or moved."""

import unicodedata
from typing import Final

UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """Characters that show as nothing, move the cursor or turn the text around, as `‹U+202E›`; tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"‹U+{ord(each):04X}›" if _is_unseen(each) else each for each in text)


def _is_unseen(character: str) -> bool:
    if character == "\t" or " " <= character <= "~":
        return False
    category = unicodedata.category(character)
    return category in UNSEEN or category == "Zs"
