"""A diff as lines: cut for what has happened, whole for what a person decides about."""

from collections.abc import Iterator
from typing import Final

from robota.clients.terminal.line import BOLD, DIM, GREEN, INSET, RED, Line
from robota.protocol.views import DiffHunk, DiffView
from robota.text.visible import visible

SHORT_DIFF_LINES: Final = 20
SIGNS: Final = {"add": ("+", GREEN), "remove": ("-", RED)}
TAB: Final = frozenset("\t")  # a new line would begin a line of its own


def short_diff(view: DiffView) -> Iterator[Line]:
    """The changed file, how much was changed, and the first lines of it."""
    yield Line(f"{INSET}{view.path} +{view.added} -{view.removed}", DIM)
    lines = [line for hunk in view.hunks for line in hunk.lines]
    for line in lines[:SHORT_DIFF_LINES]:
        sign, colour = SIGNS.get(line.kind, (" ", None))
        yield Line(f"{INSET}{sign} {line.text}".rstrip("\r\n"), colour)
    if len(lines) > SHORT_DIFF_LINES:
        yield Line(f"{INSET}({len(lines) - SHORT_DIFF_LINES} more lines)", DIM)


def whole_diff(view: DiffView, *, is_numbered: bool = False) -> Iterator[Line]:
    """Every line of a diff, with what cannot be seen made visible; hunks are numbered from 1 if one can choose."""
    yield Line(f"{INSET}{visible(view.path, TAB)}{' (new file)' if view.is_new else ''}", BOLD)
    for number, hunk in enumerate(view.hunks, start=1):
        mark = f"[{number}] " if is_numbered else ""
        yield Line(f"{INSET}{mark}{_hunk_range(hunk)}", DIM)
        for line in hunk.lines:
            sign, colour = SIGNS.get(line.kind, (" ", None))
            text = line.text.removesuffix("\n").removesuffix("\r")
            yield Line(f"{INSET}{sign}{visible(text, TAB)}", colour)


def _hunk_range(hunk: DiffHunk) -> str:
    return f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
