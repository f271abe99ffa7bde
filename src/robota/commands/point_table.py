"""The prompts that one can go back to, as a table."""

from collections.abc import Sequence
from typing import Final

from robota.protocol.rewind import PromptPoint
from robota.protocol.views import TableView
from robota.text.visible import single_line

COLUMNS: Final = ("N", "CALLS", "PROMPT", "FILES CHANGED")
PROMPT_SHOWN: Final = 60
FILES_SHOWN: Final = 3
LEFT_BRANCH: Final = "(left) "


def point_table(points: Sequence[PromptPoint]) -> TableView:
    """Number, calls, prompt and changed files of each; those on a branch that was left are marked."""
    return TableView(columns=COLUMNS, rows=tuple(map(_row, points)))


def _row(point: PromptPoint) -> tuple[str, ...]:
    mark = "" if point.is_live else LEFT_BRANCH
    prompt = mark + single_line(point.prompt, PROMPT_SHOWN)
    return (str(point.number), str(len(point.calls)), prompt, _files_told(point))


def _files_told(point: PromptPoint) -> str:
    if point.files is None:
        return "(its checkpoints are gone)"
    shown = ", ".join(single_line(path, PROMPT_SHOWN) for path in point.files[:FILES_SHOWN])
    more = f" and {len(point.files) - FILES_SHOWN} more" if len(point.files) > FILES_SHOWN else ""
    return f"{shown}{more}{_left_out(point)}".strip()


def _left_out(point: PromptPoint) -> str:
    """What the checkpoints do not hold, by name and reason as far as there is room."""
    if not point.not_captured:
        return ""
    named = [
        f"{single_line(each.path, PROMPT_SHOWN)}: {single_line(each.reason, PROMPT_SHOWN)}"
        for each in point.left_out[:FILES_SHOWN]
    ]
    more = point.not_captured - len(named)
    counted = [f"{more} more" if named else str(more)] if more else []
    return f" (not captured: {'; '.join([*named, *counted])})"
