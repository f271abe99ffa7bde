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
    missing = f" (not captured: {point.not_captured})" if point.not_captured else ""
    return f"{shown}{more}{missing}".strip()
