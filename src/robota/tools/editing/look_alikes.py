"""Characters that models confuse: typographic ones, full-width ones, and other Unicode compositions."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cached_property
from unicodedata import is_normalized, normalize

from robota.workspace.text.source import TextSpan, common_prefix, common_suffix

FULL_WIDTH = [*range(0xFF01, 0xFF10), *range(0xFF1A, 0xFF21), *range(0xFF3B, 0xFF41), *range(0xFF5B, 0xFF5F)]
# One character maps to one character, so that positions stay the same.
LOOK_ALIKES = {
    **{chr(code): chr(code - 0xFEE0) for code in FULL_WIDTH},
    **dict.fromkeys("‘’‚‛′`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\u3000", " "),
    **dict.fromkeys("。｡", "."),
    **dict.fromkeys("、､", ","),
}
PLAIN = str.maketrans(LOOK_ALIKES)
TOKEN = re.compile(r"[\w\u0300-\u036f]+|\s+|[^\w\s]+")
# Above this many pairs of tokens the comparison takes seconds, so everything between the common ends is replaced.
MAX_PAIRS = 1_000_000


def plain(text: str) -> str:
    """The text in composed form (NFC), with look-alikes replaced by plain characters."""
    return normalize("NFC", text).translate(PLAIN)


class PlainText:
    """The plain form of a text, with a mapping of positions back to the original."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_composed = is_normalized("NFC", text)
        self.plain = plain(text)

    def original(self, position: int) -> int:
        """The position in the original text of a position in the plain form."""
        if self._is_composed:
            return position
        # Composition never crosses line breaks, so a single line is enough.
        line = self.plain.count("\n", 0, position)
        column = position - (self.plain.rfind("\n", 0, position) + 1)
        start = self._line_starts[line]
        return start + _before(self._text[start : self._line_starts[line + 1]], column)

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0, *(newline.end() for newline in re.finditer("\n", self._text))]
        return [*starts, len(self._text)]


def replaced(there: PlainText, at: int, old: str, new: str) -> list[TextSpan]:
    """The spans that change when `old`, found at `at` in the plain form, becomes `new`, without their common parts."""
    return [
        TextSpan(start=there.original(at + start), end=there.original(at + end), new=piece)
        for start, end, piece in _changes(old, new)
    ]


def _before(line: str, columns: int) -> int:
    """How many characters of the line make up this many composed ones."""
    if not columns:
        return 0
    composed, cluster = 0, ""
    for at, character in enumerate(line):
        if cluster and normalize("NFC", cluster + character) == normalize("NFC", cluster) + normalize("NFC", character):
            composed += len(normalize("NFC", cluster))
            cluster = ""
            if composed >= columns:
                return at
        cluster += character
    return len(line)


def _changes(old: str, new: str) -> Iterator[tuple[int, int, str]]:
    """The spans of the plain form of `old` that change, with their new text."""
    tokens, others = TOKEN.findall(old), TOKEN.findall(new)
    ends = _ends(tokens)
    if len(tokens) * len(others) > MAX_PAIRS or ends[-1] != len(plain(old)):
        head = common_prefix(old, new)
        tail = common_suffix(old, new, min(len(old), len(new)) - head)
        yield len(plain(old[:head])), len(plain(old)) - len(plain(old[len(old) - tail :])), new[head : len(new) - tail]
        return
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, tokens, others, autojunk=False).get_opcodes():
        if tag != "equal":
            yield ends[i1], ends[i2], "".join(others[j1:j2])


def _ends(tokens: list[str]) -> list[int]:
    ends = [0]
    for token in tokens:
        ends.append(ends[-1] + len(plain(token)))
    return ends
