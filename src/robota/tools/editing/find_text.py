"""Where the text that a model quotes stands in a file: exactly, else almost exactly if that is in one place only."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from robota.tools.editing.matching import reindented
from robota.workspace.text.source import TextSpan, common_prefix, common_suffix

# One character for one character, so that positions stay the same.
LOOK_ALIKES = {
    "'": "‘’‚‛′`´",
    '"': "“”„‟″«»",
    "-": "‐‑‒–—―−",
    " ": "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000",
}
MAX_NAMED_PLACES = 20
MANY = 1_000
FOLDED = str.maketrans({other: plain for plain, others in LOOK_ALIKES.items() for other in others})
WHITESPACE = re.compile(r"(\s+)")
WHITESPACE_CHARACTERS = " \t\n\f\v"


class FoundText(msgspec.Struct, frozen=True, kw_only=True):
    """The replacements to make, how many times the text was found, and how if not exactly."""

    spans: list[TextSpan]
    count: int = 1
    loosely: str = ""


class Ambiguous(msgspec.Struct, frozen=True, kw_only=True):
    """The text stands in several places and only one was wanted. `lines` are the first of them."""

    lines: list[int]
    count: int
    loosely: str = ""


def find_text(text: str, old: str, new: str, *, everywhere: bool) -> FoundText | Ambiguous | None:
    """Replacing `old` by `new` in `text`; None if it is not there. All are plain text with `\\n` endings."""
    first = text.find(old)
    is_only_one = first >= 0 and text.find(old, first + len(old)) < 0
    if is_only_one:
        return FoundText(spans=[TextSpan(start=first, end=first + len(old), new=new)])
    count = text.count(old) if first >= 0 else 0
    if count and everywhere:
        return FoundText(spans=_replacements(text, old, new, count), count=count)
    if count:
        return Ambiguous(lines=_line_numbers(text, _occurrences(text, old)), count=count)
    for way, search in LOOSE_WAYS:
        spans = search(text, old, new)
        if len(spans) == 1:
            return FoundText(spans=spans, loosely=way)
        if spans:
            lines = _line_numbers(text, (span.start for span in spans))
            return Ambiguous(lines=lines, count=len(spans), loosely=way)
    return None


def _occurrences(text: str, old: str) -> Iterator[int]:
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + len(old))


def _replacements(text: str, old: str, new: str, count: int) -> list[TextSpan]:
    if count <= MANY:
        return [TextSpan(start=start, end=start + len(old), new=new) for start in _occurrences(text, old)]
    # A million values would take a gigabyte, so all of them become one.
    start, end = text.find(old), text.rfind(old) + len(old)
    return [TextSpan(start=start, end=end, new=text[start:end].replace(old, new))]


def _line_numbers(text: str, positions: Iterable[int]) -> list[int]:
    return [text.count("\n", 0, position) + 1 for position in islice(positions, MAX_NAMED_PLACES)]


def _by_look(text: str, old: str, new: str) -> list[TextSpan]:
    """Typographic quotes, dashes and blanks taken for the plain ones; what `new` keeps of `old` is not touched."""
    head = common_prefix(old, new)
    tail = common_suffix(old, new, min(len(old), len(new)) - head)
    return [
        TextSpan(start=at + head, end=at + len(old) - tail, new=new[head : len(new) - tail])
        for at in _occurrences(text.translate(FOLDED), old.translate(FOLDED))
    ]


def _by_lines(text: str, old: str, new: str) -> list[TextSpan]:
    """Whole lines, whatever blanks they begin and end with, if one change of indentation explains them all."""
    quoted, replacement = _without_common_edges(old, new, "\n")
    wanted = [line.strip() for line in quoted.translate(FOLDED).split("\n")]
    if not any(wanted):
        return []
    lines = text.split("\n")
    bare = [line.strip() for line in text.translate(FOLDED).split("\n")]
    starts = (at for at in _indexes(bare, wanted[0]) if bare[at : at + len(wanted)] == wanted)
    spans = [_lines_span(lines, at, quoted.split("\n"), replacement) for at in starts]
    return [span for span in spans if span is not None]


def _without_common_edges(old: str, new: str, blanks: str) -> tuple[str, str]:
    """Both without the blanks that `old` has at its ends, as far as `new` has them too."""
    core = old.strip(blanks)
    before = old[: len(old) - len(old.lstrip(blanks))]
    after = old[len(before) + len(core) :]
    return core, new.removeprefix(before).removesuffix(after)


def _indexes(lines: list[str], wanted: str) -> Iterator[int]:
    at = -1
    while True:
        try:
            at = lines.index(wanted, at + 1)
        except ValueError:
            return
        yield at


def _lines_span(lines: list[str], at: int, old: list[str], new: str) -> TextSpan | None:
    there = lines[at : at + len(old)]
    replacement = reindented(there, old, new.split("\n") if new else [])
    if replacement is None:
        return None
    start = sum(len(line) + 1 for line in lines[:at])
    end = start + sum(len(line) + 1 for line in there) - 1
    if not replacement and at + len(old) < len(lines):  # the lines go, and so does the last of their endings
        end += 1
    return TextSpan(start=start, end=end, new="\n".join(replacement))


def _by_words(text: str, old: str, new: str) -> list[TextSpan]:
    """The same words with other blanks between them; a line break stays a line break."""
    quoted, replacement = _without_common_edges(old, new, WHITESPACE_CHARACTERS)
    if not quoted:
        return []
    pattern = _words_pattern(quoted.translate(FOLDED))
    return [
        TextSpan(start=hit.start(), end=hit.end(), new=replacement) for hit in pattern.finditer(text.translate(FOLDED))
    ]


def _words_pattern(old: str) -> re.Pattern[str]:
    pieces = WHITESPACE.split(old)
    return re.compile("".join(_blanks(piece) if index % 2 else re.escape(piece) for index, piece in enumerate(pieces)))


def _blanks(run: str) -> str:
    return r"[^\S\n]*(?:\n[^\S\n]*)+" if "\n" in run else r"[^\S\n]+"


LOOSE_WAYS = (
    ("apart from typographic characters", _by_look),
    ("apart from indentation and trailing blanks", _by_lines),
    ("apart from the blanks between words", _by_words),
)
