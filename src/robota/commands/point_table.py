"""The table of rewind points."""

from collections.abc import Sequence
from typing import Final

from robota.protocol.rewind import PromptPoint
from robota.protocol.views import TableView
from robota.text.visible import single_line

COLUMNS: Final = ("N", "CALLS", "PROMPT", "FILES CHANGED")
MAX_TEXT: Final = 60
MAX_PROMPT: Final = 40  # leaves room for the files on a terminal of 80 columns
MAX_FILES: Final = 3
ABANDONED: Final = "(left) "


def point_table(points: Sequence[PromptPoint]) -> TableView:
    """A row per prompt: number, calls, text and changed files. Prompts on an abandoned branch are marked."""
    return TableView(columns=COLUMNS, rows=tuple(map(_row, points)))


def _row(point: PromptPoint) -> tuple[str, ...]:
    mark = "" if point.is_live else ABANDONED
    prompt = mark + single_line(point.prompt, MAX_PROMPT)
    return (str(point.number), str(len(point.calls)), prompt, _files_cell(point))


def _files_cell(point: PromptPoint) -> str:
    if point.files is None:
        return "(checkpoints removed)"
    shown = ", ".join(single_line(path, MAX_TEXT) for path in point.files[:MAX_FILES])
    more = f" and {len(point.files) - MAX_FILES} more" if len(point.files) > MAX_FILES else ""
    return f"{shown}{more}{_not_captured(point)}".strip()


def _not_captured(point: PromptPoint) -> str:
    """The files that the checkpoints do not contain: the first ones with reasons, and how many more."""
    if not point.not_captured:
        return ""
    named = [
        f"{single_line(each.path, MAX_TEXT)}: {single_line(each.reason, MAX_TEXT)}"
        for each in point.left_out[:MAX_FILES]
    ]
    more = point.not_captured - len(named)
    counted = [f"{more} more" if named else str(more)] if more else []
    return f" (not captured: {'; '.join([*named, *counted])})"
