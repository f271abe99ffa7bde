"""Make untrusted text safe to show: control, bidirectional and invisible characters.

A character is unprintable if `str.isprintable` says so: control codes, format characters (bidirectional, zero width,
tags), surrogates, unassigned characters, and every space except U+0020. The classes below are the invisible ones that
it counts as printable, and the unprintable ones that some callers treat differently.
"""

import re
from collections.abc import Set
from typing import Any, Final

import msgspec


def _characters(*ranges: tuple[int, int]) -> frozenset[str]:
    return frozenset(chr(code) for first, last in ranges for code in range(first, last + 1))


CONTROL_CODES: Final = _characters((0x00, 0x1F), (0x7F, 0x9F))
SPACES: Final = _characters((0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)) | frozenset("\u202f\u205f\u3000")
# Overrides, embeddings and isolates: they reverse the direction of what follows.
BIDI: Final = _characters((0x202A, 0x202E), (0x2066, 0x2069))
# A second alphabet that no font shows.
TAGS: Final = _characters((0xE0000, 0xE007F))
# Printable according to Unicode, yet invisible: fillers, joiners, selectors, blanks, object replacements. Marks that
# stack letters of living scripts, such as the Khmer coeng, are not listed, because their texts are full of them.
BLANK: Final = (
    frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u2d7f\u3164\uffa0\ufffc")
    | frozenset("\U0001107f\U00011a47\U00011a99\U00016fe4\U0001bc9d\U0001d159")
    | _characters((0x180B, 0x180F), (0xFE00, 0xFE0F), (0x13440, 0x13442), (0xE0100, 0xE01EF))
)
LINES_AND_TABS: Final = frozenset("\n\t")
REMOVED: Final = str.maketrans(dict.fromkeys((CONTROL_CODES | BIDI | TAGS) - LINES_AND_TABS))
# Lines of nothing but blanks are a gap like empty ones.
LONG_GAP: Final = r"\n(?:[ \t]*\n){3,}|[ \t]{20,}"
MANY_LINES: Final = 400
MAX_LINE_LENGTH: Final = 80
# Up to this many different characters, `str.replace` for each is faster than one `str.translate`.
FEW: Final = 20


class VisibleText(msgspec.Struct, frozen=True, kw_only=True):
    """A text with everything invisible made visible, and warnings about it."""

    text: str
    warnings: tuple[str, ...]


def visible(text: str, keep: Set[str] = LINES_AND_TABS) -> str:
    """For text that the user decides about: every unprintable or blank character but `keep` as `‹U+202E›`."""
    if text.isascii() and text.isprintable():
        return text
    spelled = {char: f"‹U+{ord(char):04X}›" for char in _unseen(text, keep)}
    if len(spelled) > FEW:
        return text.translate({ord(char): spelling for char, spelling in spelled.items()})
    for char, spelling in spelled.items():
        text = text.replace(char, spelling)
    return text


def visible_with_warnings(text: str) -> VisibleText:
    """As `visible`; long gaps become `‹300 blanks›`. Nothing is left out: what is not shown cannot be approved."""
    hidden = [f"U+{ord(char):04X}" for char in _unseen(text, LINES_AND_TABS)]
    lines = text.count("\n") + 1
    warnings = [f"It contains invisible characters: {', '.join(hidden[:10])}."] if hidden else []
    if re.search(LONG_GAP, text):
        warnings.append("Long gaps are shown as ‹…›; read what follows them.")
    if lines > MANY_LINES:
        warnings.append(f"It is {lines:,} lines and {len(text):,} characters long.")
    return VisibleText(text=re.sub(LONG_GAP, _gap, visible(text)), warnings=tuple(warnings))


def printable_name(name: str) -> str:
    """For the name of a file: what is unprintable as an escape such as `\\n`, undecodable bytes as `\\xff`."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else _escaped(char) for char in name)


def single_line(text: str, limit: int = MAX_LINE_LENGTH) -> str:
    """For a text within a message: as `printable_name`, and what is longer than `limit` is cut and ends in `…`."""
    line = printable_name(text)
    return line if len(line) <= limit else f"{line[:limit]}…"


def first_unprintable(text: str, keep: Set[str] = LINES_AND_TABS) -> str | None:
    """The first unprintable or blank character but `keep`; None if there is none."""
    return next(iter(_unseen(text, keep)), None)


def without_controls(text: str) -> str:
    """For a terminal: nothing that moves the cursor, sets a title, or hides or turns around what follows."""
    return text.translate(REMOVED)


def without_surrogates(text: str) -> str:
    """For a stream of UTF-8: pairs of surrogates joined, lone ones replaced; other text stays the same."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def as_utf8(name: str) -> str:
    """A file name in which bytes that are not UTF-8 are escaped, so that it can be written as JSON."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def _unseen(text: str, keep: Set[str]) -> list[str]:
    """Each character that cannot be seen once, in the order in which they come: a long text has few different ones."""
    if text.isascii() and text.isprintable():
        return []
    different = dict.fromkeys(text)
    return [char for char in different if char not in keep and (not char.isprintable() or char in BLANK)]


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python carries a byte of a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def _gap(match: re.Match[str]) -> str:
    lines = match[0].count("\n")
    return f" ‹{lines} new lines› " if lines else f" ‹{len(match[0])} blanks› "


def with_whole_characters(node: Any) -> Any:
    """The JSON data with every lone UTF-16 surrogate, which has no UTF-8 form, replaced by U+FFFD."""
    if isinstance(node, str):
        return node.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(node, list | tuple):
        return [with_whole_characters(item) for item in node]
    if isinstance(node, dict):
        return {with_whole_characters(key): with_whole_characters(value) for key, value in node.items()}
    return node
