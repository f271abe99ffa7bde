"""The state of the full-screen reader: position and search."""

from typing import Final

import msgspec
from msgspec.structs import replace

HELP: Final = "q close  / search  n/N next/prev  Space/b page  g/G top/end"
SECTION_HELP: Final = "q close  Tab next file  / search  n/N next/prev  Space/b page"


class PagerReading(msgspec.Struct, frozen=True, kw_only=True):
    """The rows, the first visible one, and the words that are searched; `typing` while they are being written.

    `texts` are what can be read of the rows, in small letters; `sections` the rows that Tab goes to.
    """

    rows: tuple[str, ...]
    height: int
    texts: tuple[str, ...] = ()
    sections: tuple[int, ...] = ()
    top: int = 0
    words: str = ""
    typing: bool = False
    found_at: int | None = None
    is_missing: bool = False  # nothing has the words in it

    def sized(self, height: int) -> "PagerReading":
        """The reader resized to another height."""
        return replace(self, height=height).moved_to(self.top)

    def moved_to(self, top: int) -> "PagerReading":
        """With this row at the top, as far as there are rows."""
        return replace(self, top=max(0, min(top, len(self.rows) - self.height)))

    def at_end(self) -> "PagerReading":
        """The reader scrolled to the newest rows."""
        return self.moved_to(len(self.rows))

    @property
    def visible(self) -> tuple[str, ...]:
        """The rows on the screen."""
        return self.rows[self.top : self.top + self.height]

    @property
    def foot(self) -> str:
        """The position, and the keys."""
        if self.typing:
            return f"/{self.words}"
        last = min(len(self.rows), self.top + self.height)
        missing = " (not found)" if self.is_missing else ""
        search = f"  /{self.words}{missing}" if self.words else ""
        return (
            f"{min(self.top + 1, last)}-{last} of {len(self.rows)}{search}  {SECTION_HELP if self.sections else HELP}"
        )

    def found(self, step: int) -> "PagerReading":
        """Go to the next or previous row with the searched words, wrapping around."""
        folded, count = self.words.casefold(), len(self.texts)
        begin = self.top if self.found_at is None else self.found_at
        indexes = ((begin + step * distance) % count for distance in range(1, count + 1)) if folded else ()
        for index in indexes:
            if folded in self.texts[index]:
                is_seen = self.top <= index < self.top + self.height
                return replace(self if is_seen else self.moved_to(index), found_at=index, is_missing=False)
        return replace(self, is_missing=bool(folded))

    def at_section(self, step: int) -> "PagerReading":
        """At the beginning of the next section, or of the one before."""
        if step > 0:
            index = next((index for index in self.sections if index > self.top), None)
        else:
            index = next((index for index in reversed(self.sections) if index < self.top), None)
        return self if index is None else self.moved_to(index)


def press_while_reading(reading: PagerReading, key: str) -> PagerReading | None:
    """After a key; None closes."""
    if reading.typing:
        return _press_in_search(reading, key)
    page = max(1, reading.height - 1)
    moves = {
        "up": -1, "k": -1, "down": 1, "j": 1, "enter": 1, "pageup": -page, "b": -page, "pagedown": page, " ": page,
        "home": -len(reading.rows), "g": -len(reading.rows), "end": len(reading.rows), "G": len(reading.rows),
    }  # fmt: skip
    if key in moves:
        return reading.moved_to(reading.top + moves[key])
    match key:
        case "q" | "escape":
            return None
        case "/":
            return replace(reading, words="", typing=True, found_at=None, is_missing=False)
        case "n" | "N":
            return reading.found(1 if key == "n" else -1)
        case "tab" | "s-tab" | "]" | "[":
            return reading.at_section(1 if key in ("tab", "]") else -1)
        case _:
            return reading


def _press_in_search(reading: PagerReading, key: str) -> PagerReading:
    match key:
        case "enter":
            return replace(reading, typing=False, found_at=reading.top - 1).found(1)
        case "escape":
            return replace(reading, words="", typing=False)
        case "backspace":
            return replace(reading, words=reading.words[:-1])
        case _ if len(key) == 1 and key.isprintable():
            return replace(reading, words=reading.words + key)
        case _:
            return reading
