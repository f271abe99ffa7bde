"""Finds text that a model quotes in a file: exactly, or else approximately if there is only one such place."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from robota.tools.editing.indentation import UnclearIndentation, indentation_of, rewritten
from robota.tools.editing.look_alikes import PlainText, plain, replaced
from robota.workspace.text.source import TextSpan

MAX_NAMED_PLACES = 20
MANY = 1_000
WHITESPACE = re.compile(r"(\s+)")


class FoundText(msgspec.Struct, frozen=True, kw_only=True):
    """The replacements to make, the number of matches, and how a match was inexact."""

    spans: list[TextSpan]
    count: int = 1
    loosely: str = ""


class Ambiguous(msgspec.Struct, frozen=True, kw_only=True):
    """The text occurs more than once, but a single match was required. `lines` are the first matches."""

    lines: list[int]
    count: int
    loosely: str = ""


class Unclear(msgspec.Struct, frozen=True, kw_only=True):
    """The only match is indented so differently that the indentation of new lines is unclear."""

    line: int


class NearMatch(msgspec.Struct, frozen=True, kw_only=True):
    """An approximate match, and the replacements to make there; None if their indentation is unclear."""

    start: int
    spans: list[TextSpan] | None


def find_text(text: str, old: str, new: str, *, everywhere: bool) -> FoundText | Ambiguous | Unclear | None:
    """Replace `old` with `new` in `text`; None if it is not found. All are plain text with `\\n` endings."""
    first = text.find(old)
    is_only_one = first >= 0 and text.find(old, first + len(old)) < 0
    if is_only_one:
        return FoundText(spans=[TextSpan(start=first, end=first + len(old), new=new)])
    count = text.count(old) if first >= 0 else 0
    if count and everywhere:
        return FoundText(spans=_replacements(text, old, new, count), count=count)
    if count:
        return Ambiguous(lines=_line_numbers(text, _occurrences(text, old)), count=count)
    return _find_loosely(text, old, new)


def _find_loosely(text: str, old: str, new: str) -> FoundText | Ambiguous | Unclear | None:
    there = PlainText(text)
    for way, search in LOOSE_WAYS:
        places = search(text, there, old, new)
        lines = _line_numbers(text, (place.start for place in places))
        if len(places) > 1:
            return Ambiguous(lines=lines, count=len(places), loosely=way)
        if places and places[0].spans is None:
            return Unclear(line=lines[0])
        if places and places[0].spans is not None:
            return FoundText(spans=places[0].spans, loosely=way)
    return None


def _occurrences(text: str, old: str) -> Iterator[int]:
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + len(old))


def _replacements(text: str, old: str, new: str, count: int) -> list[TextSpan]:
    if count <= MANY:
        return [TextSpan(start=start, end=start + len(old), new=new) for start in _occurrences(text, old)]
    # A million spans would take a gigabyte, so they are merged into one.
    start, end = text.find(old), text.rfind(old) + len(old)
    return [TextSpan(start=start, end=end, new=text[start:end].replace(old, new))]


def _line_numbers(text: str, positions: Iterable[int]) -> list[int]:
    return [text.count("\n", 0, position) + 1 for position in islice(positions, MAX_NAMED_PLACES)]


def _by_look(_text: str, there: PlainText, old: str, new: str) -> list[NearMatch]:
    """Treat look-alike characters as equal; text that `new` keeps from `old` is not changed."""
    return [
        NearMatch(start=there.original(at), spans=replaced(there, at, old, new))
        for at in _occurrences(there.plain, plain(old))
    ]


def _by_lines(text: str, there: PlainText, old: str, new: str) -> list[NearMatch]:
    """Match whole lines, ignoring leading and trailing whitespace."""
    quoted, replacement = _without_common_edges(old, new, "\n")
    quoted_lines = [line.strip() for line in plain(quoted).split("\n")]
    if not any(quoted_lines):
        return []
    lines = text.split("\n")
    bare = [line.strip() for line in there.plain.split("\n")]
    starts = (at for at in _indexes(bare, quoted_lines[0]) if bare[at : at + len(quoted_lines)] == quoted_lines)
    return [_place_of_lines(lines, at, quoted.split("\n"), replacement) for at in starts]


def _without_common_edges(old: str, new: str, blanks: str) -> tuple[str, str]:
    """Both texts without the leading and trailing blanks of `old`, as far as `new` has them, too."""
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


def _place_of_lines(lines: list[str], at: int, old: list[str], new: str) -> NearMatch:
    start = sum(len(line) + 1 for line in lines[:at])
    there = lines[at : at + len(old)]
    if new:
        return NearMatch(start=start, spans=_line_spans(start, there, old, new.split("\n")))
    end = start + sum(len(line) + 1 for line in there) - 1
    if at + len(old) < len(lines):  # the lines are removed together with their last line ending
        end += 1
    return NearMatch(start=start, spans=[TextSpan(start=start, end=end, new="")])


def _line_spans(start: int, there: list[str], old: list[str], new: list[str]) -> list[TextSpan] | None:
    """The lines `there`, which begin at `start`, with the changes applied; None if the indentation is unclear."""
    lines: list[str] = []
    done = 0
    try:
        for change in rewritten(there, old, new):
            lines += [*there[done : change.start], *change.new_lines]
            done = change.end
    except UnclearIndentation:
        return None
    lines += there[done:]
    return [TextSpan(start=start, end=start + len("\n".join(there)), new="\n".join(lines))]


def _by_words(text: str, there: PlainText, old: str, new: str) -> list[NearMatch]:
    """Match the same words with different spacing, on the same number of lines."""
    quoted, replacement = _without_common_edges(old, new, "\n")
    if not quoted.strip():
        return []
    hits = _words_pattern(plain(quoted.strip())).finditer(there.plain)
    return [
        _place_of_words(text, there.original(hit.start()), there.original(hit.end()), quoted, replacement)
        for hit in hits
    ]


def _place_of_words(text: str, start: int, end: int, old: str, new: str) -> NearMatch:
    old, new = old.rstrip(), new.removesuffix(old[len(old.rstrip()) :])
    line_start = text.rfind("\n", 0, start) + 1
    if not text[line_start:start].strip():
        spans = _line_spans(line_start, text[line_start:end].split("\n"), old.split("\n"), new.split("\n"))
        return NearMatch(start=start, spans=spans)
    # The match begins within a line, so only the lines after it have an indentation, which must be equal.
    inner = old.lstrip()
    new = new.removeprefix(old[: len(old) - len(inner)])
    is_even = [indentation_of(line) for line in text[start:end].split("\n")[1:]] == [
        indentation_of(line) for line in inner.split("\n")[1:]
    ]
    return NearMatch(start=start, spans=[TextSpan(start=start, end=end, new=new)] if is_even else None)


def _words_pattern(old: str) -> re.Pattern[str]:
    pieces = WHITESPACE.split(old)
    return re.compile("".join(_blanks(piece) if index % 2 else re.escape(piece) for index, piece in enumerate(pieces)))


def _blanks(run: str) -> str:
    return r"[^\S\n]*" + r"\n[^\S\n]*" * run.count("\n") if "\n" in run else r"[^\S\n]+"


LOOSE_WAYS = (
    ("apart from characters that look alike", _by_look),
    ("apart from indentation and trailing spaces", _by_lines),
    ("apart from the spaces between words", _by_words),
)
