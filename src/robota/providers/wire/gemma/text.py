"""Split Gemma's text while it streams into the answer, its thoughts, and its calls."""

from collections.abc import Collection
from typing import Final

import msgspec

from robota.providers.wire.gemma.call import QUOTES, GemmaCall, parse_call

CHANNEL, END_OF_CHANNEL = "<|channel>", "<channel|>"
CALLS: Final = {"<|tool_call>": "<tool_call|>", "<start_function_call>": "<end_function_call>"}
# Marks of the chat template that are not shown to the user.
DROPPED: Final = ("<turn|>", "<end_of_turn>", "<eos>")
OPENINGS: Final = (CHANNEL, *CALLS, *DROPPED)
VISIBLE_CHANNEL: Final = "final"
MAX_CHANNEL_NAME_LENGTH: Final = 24


class GemmaAnswer(msgspec.Struct, frozen=True):
    """Text for the user."""

    text: str


class GemmaThought(msgspec.Struct, frozen=True):
    """Text of a channel that is not the answer."""

    text: str


GemmaPiece = GemmaAnswer | GemmaThought | GemmaCall


class GemmaParser:
    """Feed it text as it arrives. A possible beginning of a mark is held back until it is decided.

    A call counts only if its tool was `offered` and it is complete; otherwise it stays text.
    """

    def __init__(self, offered: Collection[str]) -> None:
        self._offered = offered
        self._held = ""
        self._inside = ""
        self._channel: str | None = None
        self._searched = 0

    def feed(self, text: str) -> list[GemmaPiece]:
        self._held += text
        pieces: list[GemmaPiece] = []
        while self._step(pieces):
            pass
        return pieces

    def finish(self) -> list[GemmaPiece]:
        """End the text; returns what was held back."""
        held, self._held = self._held, ""
        if self._inside in CALLS:
            return [self._call(held, "")]
        if self._inside == CHANNEL:
            return _pieces_of(held, GemmaThought if self._channel != VISIBLE_CHANNEL else GemmaAnswer)
        return _pieces_of(held, GemmaAnswer)

    def _step(self, pieces: list[GemmaPiece]) -> bool:
        """Process one stretch of the held text. False if that needs more text."""
        if not self._inside:
            return self._outside(pieces)
        return self._in_channel(pieces) if self._inside == CHANNEL else self._in_call(pieces)

    def _outside(self, pieces: list[GemmaPiece]) -> bool:
        position, mark = _first_mark(self._held, OPENINGS)
        pieces += _pieces_of(self._held[:position], GemmaAnswer)
        self._held = self._held[position + len(mark) :]
        self._inside = "" if mark in DROPPED else mark
        return bool(mark)

    def _in_channel(self, pieces: list[GemmaPiece]) -> bool:
        if self._channel is None and not self._name_channel():
            return False
        position, mark = _first_mark(self._held, (END_OF_CHANNEL,))
        pieces += _pieces_of(self._held[:position], GemmaAnswer if self._channel == VISIBLE_CHANNEL else GemmaThought)
        self._held = self._held[position + len(mark) :]
        if mark:
            self._inside, self._channel = "", None
        return bool(mark)

    def _name_channel(self) -> bool:
        """The first line of a channel is its name; one without a name is a thought."""
        name, newline, rest = self._held.partition("\n")
        if newline and len(name) <= MAX_CHANNEL_NAME_LENGTH and END_OF_CHANNEL not in name:
            self._channel, self._held = name.strip(), rest
        elif len(self._held) > MAX_CHANNEL_NAME_LENGTH or END_OF_CHANNEL in self._held:
            self._channel = ""
        return self._channel is not None

    def _in_call(self, pieces: list[GemmaPiece]) -> bool:
        closing = CALLS[self._inside]
        position = self._held.find(closing, self._searched)
        while position >= 0 and _is_quoted(self._held[:position]):
            position = self._held.find(closing, position + 1)
        if position < 0:
            self._searched = max(0, len(self._held) - len(closing))
            return False
        pieces.append(self._call(self._held[:position], closing))
        self._held = self._held[position + len(closing) :]
        self._inside, self._searched = "", 0
        return True

    def _call(self, body: str, closing: str) -> GemmaPiece:
        call = parse_call(body)
        if call is not None and call.name in self._offered:
            return call
        return GemmaAnswer(f"{self._inside}{body}{closing}")


def _first_mark(text: str, marks: tuple[str, ...]) -> tuple[int, str]:
    """The position of the first mark, and the mark; if there is none, where a partial mark at the end may begin."""
    matches = [(position, mark) for mark in marks if (position := text.find(mark)) >= 0]
    if matches:
        return min(matches)
    longest = max(map(len, marks)) - 1
    for position in range(max(0, len(text) - longest), len(text)):
        if any(mark.startswith(text[position:]) for mark in marks):
            return position, ""
    return len(text), ""


def _is_quoted(before: str) -> bool:
    return any(before.count(quote) % 2 for quote in QUOTES)


def _pieces_of(text: str, kind: type[GemmaAnswer] | type[GemmaThought]) -> list[GemmaPiece]:
    return [kind(text)] if text else []
