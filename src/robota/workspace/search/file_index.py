"""Find paths by a few typed letters, fast enough for every keystroke in a workspace of 100,000 files."""

import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Final

# At most this many matches of each kind are ranked; users do not read more.
MAX_RANKED: Final = 500
# If this many paths contain the query as a whole, scattered letters are not searched for.
ENOUGH: Final = 5
BEGINS_WORD: Final = frozenset("/_-. ")
YES: Final = b"\x01"


class FileIndex:
    """Files and their directories, which end with `/`, the least nested first."""

    def __init__(self, files: Iterable[str]) -> None:
        """Names that cannot be typed or shown, such as those with control characters, are left out."""
        self._paths = _by_depth(path for path in files if path.isprintable())
        lowered = [_lowered(path) for path in self._paths]
        self._whole = _Lines(lowered)
        self._names = _Lines([path[path.rfind("/", 0, -1) + 1 :] for path in lowered])

    def __len__(self) -> int:
        return len(self._paths)

    def best(self, query: str, limit: int, is_hidden: Callable[[str], bool]) -> tuple[str, ...]:
        """The best matches: at the beginning of the name, within the name, within the path, then letters in order."""
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
        ranked = sorted(islice(matching, MAX_RANKED), key=lambda number: _looseness(lines.texts[number], query))
        return (self._paths[number] for number in ranked)


class _Lines:
    """Single-line texts. Searches return the indexes of the matching texts, in order."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        # Joined, because one search in it is many times as fast as one in each text.
        self._joined = "\n".join(("", *texts, ""))
        self._starts = array("L", accumulate((len(text) + 1 for text in texts), initial=1))
        self._having: dict[str, int] = {}

    def beginning_with(self, query: str) -> Iterator[int]:
        return self._found(f"\n{query}")

    def containing(self, query: str) -> Iterator[int]:
        return self._found(query)

    def with_in_order(self, query: str) -> Iterator[int]:
        """The texts that contain the letters in this order, with anything between them."""
        # Possessive quantifiers do not backtrack, so that the time is linear in the length of the text.
        in_order = re.compile("".join(f"[^{re.escape(letter)}]*+{re.escape(letter)}" for letter in query))
        likely = ~0
        for letter in set(query):
            likely &= self._flags(letter)
        for match in re.finditer(YES, likely.to_bytes(len(self.texts), "little")):
            if in_order.match(self.texts[match.start()]):
                yield match.start()

    def _found(self, needle: str) -> Iterator[int]:
        offset = self._joined.find(needle)
        while offset >= 0:
            number = bisect_right(self._starts, offset + needle.startswith("\n")) - 1
            yield number
            offset = self._joined.find(needle, self._starts[number + 1] - 1)

    def _flags(self, letter: str) -> int:
        """A byte per text: whether it contains the letter. Cached for the next query, often one letter longer."""
        if letter not in self._having:
            flags = bytes([letter in text for text in self.texts])
            self._having[letter] = int.from_bytes(flags, "little")
        return self._having[letter]


def _by_depth(files: Iterable[str]) -> list[str]:
    """Sort directory by directory, because one sort of everything would block all other threads."""
    entries: dict[str, list[str]] = {}  # by the path of their directory
    for path in files:
        entry, parent = path, os.path.dirname(path)  # noqa: PTH120 - called for every file
        while parent not in entries and parent:
            entries[parent] = [entry]
            entry, parent = f"{parent}/", os.path.dirname(parent)  # noqa: PTH120
        entries.setdefault(parent, []).append(entry)
    # Entries of the root have no slash; entries of sibling directories have the same number of slashes.
    directories = sorted(entries, key=lambda directory: (directory.count("/") + bool(directory), directory))
    return [entry for directory in directories for entry in sorted(entries[directory])]


def _lowered(path: str) -> str:
    lowered = path.lower()
    return path if lowered == path else lowered  # reuse the same string


def _looseness(text: str, query: str) -> tuple[bool, int, int]:
    """How loosely letters in order match: not at the start of a word, far from each other, in a long text."""
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
