"""Escape what controls a terminal: cursor moves, titles, the clipboard, right-to-left overrides.

The colours that Robota itself uses are kept, because callers have text and colours in one string; none of them can
hide a word. The rest is escaped as in JSON, so that a printed JSON document keeps its meaning.
"""

import re
from typing import Final

COLOUR: Final = "(?:[0-4]|2[234]|3[1-6]|39|49|9[1-6])"
COLOURS: Final = rf"\x1b\[(?:{COLOUR}(?:;{COLOUR})*)?m"
# Control codes except new lines and tabs, lone surrogates, bidirectional overrides and isolates, tags.
STEERING: Final = (
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
    r"|\r(?!\n)"
)
FIRST_OF_TWO: Final = 0x10000


def spelled_steering(text: str) -> str:
    """The text with everything that controls a terminal, except a few colours, written as `\\u001b`."""
    if text.isascii() and text.isprintable():
        return text
    return re.sub(f"({COLOURS})|{STEERING}", _spelled, text)


def _spelled(match: re.Match[str]) -> str:
    if match[1] is not None:
        return match[0]
    code = ord(match[0])
    if code < FIRST_OF_TWO:
        return f"\\u{code:04x}"
    high, low = divmod(code - FIRST_OF_TWO, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
