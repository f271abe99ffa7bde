"""Finding paths by a few typed letters, fast enough to answer every key in a workspace of 100,000 files."""

import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Final

# Of each kind of match so many are compared with one another; more nobody looks at.
MAX_RANKED: Final = 500
# Where so many have what was typed in one piece, scattered letters are not meant.
ENOUGH: Final = 5
BEGINS_WORD: Final = frozenset("/_-. ")
YES: Final = b"\x01"


class FileIndex:
    """Files and the directories they lie in, which end with `/`, those near the top first."""

    def __init__(self, files: Iterable[str]) -> None:
        """Names that cannot be typed or shown as they are, such as those with control characters, are left out."""
        self._paths = _by_depth(path for path in files if path.isprintable())
        lowered = [_lowered(path) for path in self._paths]
        self._whole = _Lines(lowered)
        self._names = _Lines([path[path.rfind("/", 0, -1) + 1 :] for path in lowered])

    def __len__(self) -> int:
        return len(self._paths)

    def best(self, query: str, limit: int, is_hidden: Callable[[str], bool]) -> tuple[str, ...]:
        """The paths that fit best: by the beginning of their name, its middle, the path, then by letters in order."""
        best: dict[str, None] = {}
        for path in self._ranked(query.lower()) if query else self._paths:
            if len(best) >= limit:
                break
            if path not in best and not is_hidden(path):
                best[path] = None
        return tuple(best)

    def _ranked(self, query: str) -> Iterator[str]:
        if not query.isprintable():
            return
        both = (self._whole,) if "/" in query else (self._names, self._whole)
        in_one_piece = list(self._tightest(both[0], query, both[0].beginning_with(query)))
        yield from in_one_piece
        for lines in both:
            containing = tuple(self._tightest(lines, query, lines.containing(query)))
            in_one_piece += containing
            yield from containing
        if len(set(in_one_piece)) < ENOUGH:
            for lines in both:
                yield from self._tightest(lines, query, lines.with_in_order(query))

    def _tightest(self, lines: "_Lines", query: str, matching: Iterator[int]) -> Iterator[str]:
        ranked = sorted(islice(matching, MAX_RANKED), key=lambda at: _looseness(lines.texts[at], query))
        return (self._paths[at] for at in ranked)


class _Lines:
    """Texts of one line each. What is looked for is told by their numbers, in order."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        # In one piece, because a search in it is many times as fast as one in each text.
        self._joined = "\n".join(("", *texts, ""))
        self._starts = array("L", accumulate((len(text) + 1 for text in texts), initial=1))
        self._having: dict[str, int] = {}

    def beginning_with(self, query: str) -> Iterator[int]:
        return self._found(f"\n{query}")

    def containing(self, query: str) -> Iterator[int]:
        return self._found(query)

    def with_in_order(self, query: str) -> Iterator[int]:
        """Those that have the letters in this order, with anything between them."""
        # Nothing that was passed over is tried again, so that the time grows with the length of the text only.
        in_order = re.compile("".join(f"[^{re.escape(letter)}]*+{re.escape(letter)}" for letter in query))
        likely = ~0
        for letter in set(query):
            likely &= self._flags(letter)
        for place in re.finditer(YES, likely.to_bytes(len(self.texts), "little")):
            if in_order.match(self.texts[place.start()]):
                yield place.start()

    def _found(self, wanted: str) -> Iterator[int]:
        place = self._joined.find(wanted)
        while place >= 0:
            number = bisect_right(self._starts, place + wanted.startswith("\n")) - 1
            yield number
            place = self._joined.find(wanted, self._starts[number + 1] - 1)

    def _flags(self, letter: str) -> int:
        """Which texts have a letter, a byte each. Kept, because the next query mostly has one letter more."""
        if letter not in self._having:
            flags = bytes([letter in text for text in self.texts])
            self._having[letter] = int.from_bytes(flags, "little")
        return self._having[letter]


def _by_depth(files: Iterable[str]) -> list[str]:
    """Sorted directory by directory, because one sort of all would keep every other thread waiting."""
    entries: dict[str, list[str]] = {}  # of each directory, by its path
    for path in files:
        entry, parent = path, os.path.dirname(path)  # noqa: PTH120 - called for every file there is
        while parent not in entries and parent:
            entries[parent] = [entry]
            entry, parent = f"{parent}/", os.path.dirname(parent)  # noqa: PTH120
        entries.setdefault(parent, []).append(entry)
    # The entries of the top have no slash, and those of `a` have as many as those of `b`.
    places = sorted(entries, key=lambda place: (place.count("/") + bool(place), place))
    return [entry for place in places for entry in sorted(entries[place])]


def _lowered(path: str) -> str:
    lowered = path.lower()
    return path if lowered == path else lowered  # the same string is kept once


def _looseness(text: str, query: str) -> tuple[bool, int, int]:
    """How badly letters fit that stand in order: not from the start of a word, far from each other, in a long text."""
    start = text.find(query)
    end = start + len(query)
    if start < 0:
        end = 0
        for letter in query:
            end = text.index(letter, end) + 1
        start = end
        for letter in reversed(query):
            start = text.rindex(letter, 0, start)
    begins_word = start == 0 or text[start - 1] in BEGINS_WORD
    return not begins_word, end - start, len(text)
