"""A command as a person can read it: nothing hidden, nothing that moves the cursor or turns the text around."""

import re
import unicodedata
from typing import Final

import msgspec

UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
LONG_GAP: Final = re.compile(r"[ \t]{20,}|\n{4,}")
KEPT: Final = "\n\t"
MAX_LINES: Final = 400


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The text with everything unseen made visible, what was found, and how long it really is."""

    text: str
    warnings: tuple[str, ...]
    characters: int
    lines: int


def make_visible(text: str) -> Shown:
    """Unseen characters as `‹U+202E›`, long gaps as `‹300 blanks›`; of very many lines the first and the last."""
    hidden: dict[str, None] = {}
    pieces: list[str] = []
    for character in text:
        if is_unseen(character):
            hidden[f"U+{ord(character):04X}"] = None
            pieces.append(f"‹U+{ord(character):04X}›")
        else:
            pieces.append(character)
    gaps = len(LONG_GAP.findall(text))
    shown = LONG_GAP.sub(_gap, "".join(pieces))
    lines = text.count("\n") + 1
    warnings = [f"It holds characters that cannot be seen: {', '.join(list(hidden)[:10])}."] if hidden else []
    warnings += ["Long gaps in it are shown as ‹…›; read what comes after them."] if gaps else []
    warnings += [f"It is {lines:,} lines and {len(text):,} characters long."] if lines > MAX_LINES else []
    return Shown(text=_cut(shown), warnings=tuple(warnings), characters=len(text), lines=lines)


def is_unseen(character: str) -> bool:
    """Whether a character shows as nothing, moves the cursor, or turns the text around it."""
    if character in KEPT or " " <= character <= "~":
        return False
    category = unicodedata.category(character)
    return category in UNSEEN or (category == "Zs" and character != " ") or "\ufe00" <= character <= "\ufe0f"


def _gap(found: re.Match[str]) -> str:
    what = "new lines" if found[0][0] == "\n" else "blanks"
    return f" ‹{len(found[0])} {what}› "


def _cut(text: str) -> str:
    lines = text.split("\n")
    if len(lines) <= MAX_LINES:
        return text
    half = MAX_LINES // 2
    return "\n".join([*lines[:half], f"‹{len(lines) - 2 * half:,} lines more›", *lines[-half:]])
