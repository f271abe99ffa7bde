"""Decode bytes from a terminal to typed text, pasted text, and the keys that edit a line. Pure."""

import codecs
import re
from enum import Enum
from typing import Final

import msgspec

from robota.text.visible import CONTROL_CODES, LINES_AND_TABS

PASTE_BEGINS: Final = "\x1b[200~"
PASTE_ENDS: Final = "\x1b[201~"
# In this order: a line end, an escape sequence (arrows, function keys, Alt with a key), a key, text.
PIECE: Final = re.compile(
    r"\r\n?|\n|\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|\x1b[^\[O]"
    r"|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]|[^\x00-\x08\x0a-\x1f\x7f-\x9f]+",
    re.DOTALL,
)
ESCAPE_SEQUENCE: Final = r"(?s)\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)"
CONTROLS: Final = str.maketrans(dict.fromkeys(CONTROL_CODES - LINES_AND_TABS))


class Key(Enum):
    """A key with a function in the line editor. All other keys are ignored."""

    ENTER = "\r"
    NEW_LINE = "\x1b\r"  # Alt+Enter
    ERASE = "\x7f"
    ERASE_WORD = "\x17"
    ERASE_ALL = "\x15"
    CLEAR_SCREEN = "\x0c"
    END = "\x04"


class TypedText(msgspec.Struct, frozen=True):
    """Text from the keyboard."""

    text: str


class PastedText(msgspec.Struct, frozen=True):
    """A complete paste, from a terminal with bracketed paste."""

    text: str


KeyPress = Key | TypedText | PastedText
KEYS: Final = {
    **{key.value: key for key in Key},
    "\n": Key.ENTER,
    "\r\n": Key.ENTER,
    "\x1b\n": Key.NEW_LINE,
    "\x08": Key.ERASE,
}


class KeyDecoder:
    """Decodes bytes to key presses, regardless of how they are split."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._pasted: str | None = None
        self._ended_with_return = False

    @property
    def is_pasting(self) -> bool:
        """Whether a paste has started and not ended."""
        return self._pasted is not None

    def feed(self, data: bytes) -> list[KeyPress]:
        """Decode more bytes; returns the complete key presses."""
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        if self._ended_with_return:
            text = text.removeprefix("\n")
        self._ended_with_return = text.endswith("\r")
        presses: list[KeyPress] = []
        while text:
            if self._pasted is None:
                before, begins, text = text.partition(PASTE_BEGINS)
                presses += self._pressed(before, is_cut=not begins)
                self._pasted = "" if begins else None
            else:
                inside, ends, text = (self._pasted + text).partition(PASTE_ENDS)
                self._pasted = None if ends else inside
                if ends:
                    presses.append(PastedText(plain_text(inside)))
        return presses

    def drop_unfinished(self) -> None:
        """Discard an escape that nothing followed: it was the Esc key, which has no function."""
        self._rest = ""

    def _pressed(self, text: str, *, is_cut: bool) -> list[KeyPress]:
        presses: list[KeyPress] = []
        at = 0
        while match := PIECE.match(text, at):
            at = match.end()
            piece = match[0]
            if piece in KEYS:
                presses.append(KEYS[piece])
            elif piece.isprintable() or plain_text(piece) == piece:
                presses.append(TypedText(piece))
        if is_cut:
            self._rest = text[at:]  # the beginning of an escape sequence
        return presses


def plain_text(text: str) -> str:
    """The text with plain newlines and without terminal control sequences."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(ESCAPE_SEQUENCE, "", lines).translate(CONTROLS)
