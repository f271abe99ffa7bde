"""A diff as rows: line numbers, signs, and in changed lines the words that differ."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Final

import msgspec

from robota.clients.tui.theme import Piece, Role, Theme
from robota.protocol.views import DiffHunk, DiffLine, DiffView
from robota.text.counted import counted

SHORT_LINES: Final = 12
SHOWN_OF_LONGER: Final = 10
# Longer lines are not compared word by word, nor are lines with little in common.
MAX_COMPARED_LENGTH: Final = 500
ALIKE: Final = 0.5
INDENT: Final = "    "


class DiffRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a diff with its gutter."""

    gutter: str
    pieces: tuple[Piece, ...]


def diff_text(view: DiffView, theme: Theme, *, is_whole: bool = False, is_numbered: bool = False) -> Iterator[str]:
    """The file, then its changes; a long diff is cut after its first lines unless it `is_whole`."""
    new = " (new file)" if view.is_new else ""
    yield INDENT + theme.paint(f"{view.path}{new} +{view.added} -{view.removed}", Role.BOLD)
    rows = [row for number, hunk in enumerate(view.hunks) for row in _hunk_rows(hunk, number, view, is_numbered)]
    shown = rows if is_whole or len(rows) <= SHORT_LINES else rows[:SHOWN_OF_LONGER]
    for row in shown:
        painted = "".join(theme.paint(text, role) for text, role in row.pieces)
        yield f"{INDENT}{theme.paint(row.gutter, Role.DIM)}{painted}".rstrip()
    if len(shown) < len(rows):
        yield INDENT + theme.paint(f"... +{counted(len(rows) - len(shown), 'line')} (Ctrl+O shows all)", Role.DIM)


def _hunk_rows(hunk: DiffHunk, number: int, view: DiffView, is_numbered: bool) -> Iterator[DiffRow]:
    digits = len(str(max(line.new_line or line.old_line or 0 for line in hunk.lines))) if hunk.lines else 1
    if is_numbered:
        head = f"change {number + 1} of {len(view.hunks)}"
        yield DiffRow(gutter="", pieces=((f"[{number + 1}] {head}", Role.BOLD),))
    elif number:
        yield DiffRow(gutter="", pieces=((" " * digits + " ⋮", Role.DIM),))
    for is_context, group in groupby(hunk.lines, key=lambda line: line.kind == "context"):
        lines = list(group)
        yield from _unchanged(lines, digits) if is_context else _changed(lines, digits)


def _unchanged(lines: Sequence[DiffLine], digits: int) -> Iterator[DiffRow]:
    for line in lines:
        yield DiffRow(gutter=f"{line.new_line or '':>{digits}}   ", pieces=((_text(line), Role.PLAIN),))


def _changed(lines: Sequence[DiffLine], digits: int) -> Iterator[DiffRow]:
    """The removed lines, then the added ones; if the numbers are equal, each line is compared with its counterpart."""
    removed = [line for line in lines if line.kind == "remove"]
    added = [line for line in lines if line.kind == "add"]
    paired = len(removed) == len(added)
    for own, others, sign, roles in (
        (removed, added, "-", (Role.REMOVED, Role.REMOVED_WORDS)),
        (added, removed, "+", (Role.ADDED, Role.ADDED_WORDS)),
    ):
        for index, line in enumerate(own):
            counterpart = _text(others[index]) if paired else ""
            number = line.old_line if sign == "-" else line.new_line
            pieces = ((f"{sign} ", roles[0]), *_words(_text(line), counterpart, roles))
            yield DiffRow(gutter=f"{number or '':>{digits}} ", pieces=pieces)


def _words(text: str, counterpart: str, roles: tuple[Role, Role]) -> Iterator[Piece]:
    """The line in pieces; those that are missing from the counterpart get the second role."""
    matcher = SequenceMatcher(None, text, counterpart, autojunk=False)
    if not counterpart or len(text) + len(counterpart) > MAX_COMPARED_LENGTH or matcher.ratio() < ALIKE:
        yield text, roles[0]
        return
    at = 0
    for begin, _, size in matcher.get_matching_blocks():
        if begin > at:
            yield text[at:begin], roles[1]
        if size:
            yield text[begin : begin + size], roles[0]
        at = begin + size


def _text(line: DiffLine) -> str:
    return line.text.rstrip("\r\n")
