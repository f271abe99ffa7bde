"""Finding lines in a file: exactly, or a little less so. Which of several places is meant is for the caller to say."""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from robota.tools.editing.look_alikes import plain
from robota.workspace.text.source import SourceText


class Match(Enum):
    """How alike lines must be, strictest first. The value says what a looser match passed over."""

    EXACT = ""
    TRAILING_BLANKS = "trailing spaces differ"
    INDENTATION = "the indentation differs"
    CHARACTERS = "spaces, quotes or dashes differ"


LOOSE = tuple(match for match in Match if match is not Match.EXACT)


class SearchedLines:
    """The lines of one file, each form of them computed once, and only if it is looked at."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._forms: dict[Match, list[str]] = {}

    @property
    def count(self) -> int:
        return self._source.index.line_count

    def between(self, first: int, end: int) -> list[str]:
        """The lines from `first` up to but not including `end`."""
        return self._source.index.lines(first, end)

    def places(self, wanted: Sequence[str], match: Match, start: int = 0, end: int | None = None) -> list[int]:
        """Where in `lines[start:end]` the wanted lines stand, as indices of the first of them."""
        if not wanted:
            return []
        found = self._places_as_written(wanted) if match is Match.EXACT else self._places(wanted, match)
        return [at for at in found if at >= start and (end is None or at + len(wanted) <= end)]

    def beginning_with(self, text: str, start: int) -> list[int]:
        """The lines from `start` on whose text begins with this, blanks and quotes apart."""
        wanted = fold(text)
        form = self._form(Match.CHARACTERS)
        return [at for at in range(start, len(form)) if form[at].startswith(wanted)]

    def _places_as_written(self, wanted: Sequence[str]) -> Iterator[int]:
        """A search through the text, because splitting it into its lines takes several times as long."""
        text, block = self._source.text, "\n".join(wanted)
        is_finished = text.endswith("\n")
        if text.startswith(f"{block}\n") or (text == block and text and not is_finished):
            yield 0
        newline = text.find(f"\n{block}\n")
        while newline >= 0:
            yield self._source.index.line_at(newline + 1)
            newline = text.find(f"\n{block}\n", newline + 1)
        if not is_finished and text.endswith(f"\n{block}"):
            yield self._source.index.line_at(len(text) - len(block))

    def _places(self, wanted: Sequence[str], match: Match) -> Iterator[int]:
        form, sought = self._form(match), [NORMAL[match](line) for line in wanted]
        at = -1
        while True:
            try:
                at = form.index(sought[0], at + 1)
            except ValueError:
                return
            if form[at : at + len(sought)] == sought:
                yield at

    def _form(self, match: Match) -> list[str]:
        if match not in self._forms:
            self._forms[match] = [NORMAL[match](line) for line in self._source.lines]
        return self._forms[match]


def fold(line: str) -> str:
    """A line reduced to what it says: plain punctuation, single blanks, none at the ends."""
    return " ".join(plain(line).replace("…", "...").split())


def numbers(places: Sequence[int]) -> str:
    """Places as line numbers for a sentence."""
    shown = ", ".join(str(place + 1) for place in places[:10])
    return shown if len(places) <= 10 else f"{shown} and {len(places) - 10} more"


NORMAL: dict[Match, Callable[[str], str]] = {
    Match.TRAILING_BLANKS: str.rstrip,
    Match.INDENTATION: str.strip,
    Match.CHARACTERS: fold,
}
