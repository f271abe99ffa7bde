"""Finds lines in a file, exactly or approximately. The caller chooses among several matches."""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from robota.tools.editing.look_alikes import plain
from robota.workspace.text.source import SourceText


class Match(Enum):
    """How closely lines must match, strictest first. The value says what a looser match ignored."""

    EXACT = ""
    TRAILING_BLANKS = "trailing spaces differ"
    INDENTATION = "the indentation differs"
    CHARACTERS = "spaces, quotes or dashes differ"


LOOSE = tuple(match for match in Match if match is not Match.EXACT)


class SearchedLines:
    """The lines of a file. Each normalized form is computed once, on demand."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._forms: dict[Match, list[str]] = {}

    @property
    def count(self) -> int:
        return self._source.index.line_count

    def between(self, first: int, end: int) -> list[str]:
        """The lines from `first` up to, but not including, `end`."""
        return self._source.index.lines(first, end)

    def places(self, wanted: Sequence[str], match: Match, start: int = 0, end: int | None = None) -> list[int]:
        """The indices in `lines[start:end]` at which the wanted lines begin."""
        if not wanted:
            return []
        places = self._places_as_written(wanted) if match is Match.EXACT else self._places(wanted, match)
        return [at for at in places if at >= start and (end is None or at + len(wanted) <= end)]

    def beginning_with(self, text: str, start: int) -> list[int]:
        """The lines from `start` that begin with this text, ignoring spacing and the style of quotes."""
        folded = fold(text)
        form = self._form(Match.CHARACTERS)
        return [at for at in range(start, len(form)) if form[at].startswith(folded)]

    def _places_as_written(self, wanted: Sequence[str]) -> Iterator[int]:
        """Searches the whole text, because splitting it into lines takes several times as long."""
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
    """A normalized line: plain punctuation, single spaces, none at the ends."""
    return " ".join(plain(line).replace("…", "...").split())


def numbers(places: Sequence[int]) -> str:
    """Line indices as line numbers for a sentence."""
    shown = ", ".join(str(place + 1) for place in places[:10])
    return shown if len(places) <= 10 else f"{shown} and {len(places) - 10} more"


NORMAL: dict[Match, Callable[[str], str]] = {
    Match.TRAILING_BLANKS: str.rstrip,
    Match.INDENTATION: str.strip,
    Match.CHARACTERS: fold,
}
