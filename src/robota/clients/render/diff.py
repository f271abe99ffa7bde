"""Format a diff as lines: shortened for past changes, complete for decisions of the user."""

from collections.abc import Iterator
from typing import Final

from robota.clients.terminal.line import BOLD, DIM, GREEN, INSET, RED, Line
from robota.protocol.views import DiffHunk, DiffView
from robota.text.visible import visible

SHORT_DIFF_LINES: Final = 20
SIGNS: Final = {"add": ("+", GREEN), "remove": ("-", RED)}
TAB: Final = frozenset("\t")  # without the newline, which would start another line


def short_diff(view: DiffView) -> Iterator[Line]:
    """The changed file, the size of the change, and its first lines."""
    yield Line(f"{INSET}{view.path} +{view.added} -{view.removed}", DIM)
    lines = [line for hunk in view.hunks for line in hunk.lines]
    for line in lines[:SHORT_DIFF_LINES]:
        sign, colour = SIGNS.get(line.kind, (" ", None))
        yield Line(f"{INSET}{sign} {line.text}".rstrip("\r\n"), colour)
    if len(lines) > SHORT_DIFF_LINES:
        yield Line(f"{INSET}({len(lines) - SHORT_DIFF_LINES} more lines)", DIM)


def whole_diff(view: DiffView, *, is_numbered: bool = False) -> Iterator[Line]:
    """Every line of a diff, with invisible characters shown; hunks are numbered from 1 if they can be selected."""
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
