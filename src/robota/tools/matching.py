"""Finding lines in a file: exactly, or a little less so. Which of several places is meant is for the caller to say."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

# What keyboards and models write in place of typographic characters.
PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛", "'"),
        **dict.fromkeys("“”„‟", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "…": "...",
    }
)


class Match(Enum):
    """How alike lines must be, strictest first. The value says what a looser match passed over."""

    EXACT = ""
    TRAILING_BLANKS = "blanks at line ends differ"
    INDENTATION = "the indentation differs"
    CHARACTERS = "blanks, quotes or dashes differ"


LOOSE = tuple(match for match in Match if match is not Match.EXACT)


class SearchedLines:
    """The lines of one file, each form of them computed once."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._forms: dict[Match, list[str]] = {Match.EXACT: lines}

    def places(self, wanted: Sequence[str], match: Match, start: int = 0, end: int | None = None) -> list[int]:
        """Where in `lines[start:end]` the wanted lines stand, as indices of the first of them."""
        form, sought = self._form(match), [NORMAL[match](line) for line in wanted]
        last = (len(form) if end is None else min(end, len(form))) - len(sought)
        found: list[int] = []
        at = start
        while sought and at <= last:
            try:
                at = form.index(sought[0], at, last + 1)
            except ValueError:
                break
            if form[at : at + len(sought)] == sought:
                found.append(at)
            at += 1
        return found

    def beginning_with(self, text: str, start: int) -> list[int]:
        """The lines from `start` on whose text begins with this, blanks and quotes apart."""
        wanted = fold(text)
        form = self._form(Match.CHARACTERS)
        return [at for at in range(start, len(form)) if form[at].startswith(wanted)]

    def _form(self, match: Match) -> list[str]:
        if match not in self._forms:
            self._forms[match] = [NORMAL[match](line) for line in self.lines]
        return self._forms[match]


def fold(line: str) -> str:
    """A line reduced to what it says: plain punctuation, single blanks, none at the ends."""
    return " ".join(line.translate(PLAIN).split())


def indentations(written: Sequence[str], there: Sequence[str]) -> dict[str, str]:
    """Which indentation of the file each indentation of a quotation means, if it means another one anywhere.

    Where lines disagree, the first decides.
    """
    meant: dict[str, str] = {}
    for quoted, actual in zip(written, there, strict=True):
        if quoted.strip():
            meant.setdefault(_indentation(quoted), _indentation(actual))
    return meant if any(quoted != actual for quoted, actual in meant.items()) else {}


def moved(line: str, meant: Mapping[str, str]) -> str:
    """A new line, indented as the lines around it are in the file rather than in the quotation."""
    if not meant or not line.strip():
        return line
    own = _indentation(line)
    known = max((each for each in meant if own.startswith(each)), key=len, default=None)
    if known is not None:
        return meant[known] + line[len(known) :]
    outermost = min(meant, key=len)
    room = len(meant[outermost]) - len(outermost) + len(own)
    return meant[outermost][: max(0, room)] + line[len(own) :]


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def numbers(places: Sequence[int]) -> str:
    """Places as line numbers for a sentence."""
    shown = ", ".join(str(place + 1) for place in places[:10])
    return shown if len(places) <= 10 else f"{shown} and {len(places) - 10} more"


NORMAL: dict[Match, Callable[[str], str]] = {
    Match.EXACT: str,
    Match.TRAILING_BLANKS: str.rstrip,
    Match.INDENTATION: str.strip,
    Match.CHARACTERS: fold,
}
