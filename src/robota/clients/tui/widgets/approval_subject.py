"""The subject of a request for approval: all its rows, or as many as are printed at once."""

from collections.abc import Iterator
from typing import Final

from robota.clients.render.view_lines import whole_view
from robota.clients.tui.theme import Role, Theme, safe
from robota.clients.tui.widgets.diff_rows import diff_parts
from robota.clients.tui.widgets.page_row import PageRow, painted
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.views import DiffLine, DiffsView, DiffView

MAX_ROWS: Final = 200
MAX_ROW_LENGTH: Final = 2000


def fits_at_once(asked: ApprovalAsk) -> bool:
    """Whether everything is printed with the request."""
    match asked.view:
        case DiffView() | DiffsView() as view:
            files = (view,) if isinstance(view, DiffView) else view.files
            count = sum(part.size for file in files for part in diff_parts(file, is_numbered=True))
            lengths = [len(safe(line.text)) for file in files for hunk in file.hunks for line in hunk.lines]
        case view:
            lines = [line.text for line in whole_view(view)]
            count, lengths = len(lines), [len(safe(line)) for line in lines]
            count += sum(part.size for file in asked.verdict.changed for part in diff_parts(file))
            lengths += [len(safe(line.text)) for line in _changed_lines(asked)]
    return count <= MAX_ROWS and all(length <= MAX_ROW_LENGTH for length in lengths)


def _changed_lines(asked: ApprovalAsk) -> Iterator[DiffLine]:
    return (line for file in asked.verdict.changed for hunk in file.hunks for line in hunk.lines)


def first_rows(asked: ApprovalAsk, theme: Theme, width: int) -> list[str]:
    """The rows to print above the card."""
    parts = list(subject_rows(asked, theme))
    if fits_at_once(asked):
        return [row for part in parts for row in painted(part, theme, width)]
    left_out = f"    Not all {len(parts):,} lines are shown: press Ctrl+O to see them before you approve."
    shown = [row for part in parts[:MAX_ROWS] for row in painted(part, theme, width)][:MAX_ROWS]
    return [*(row if is_diff(asked) else row[:MAX_ROW_LENGTH] for row in shown), theme.paint(left_out, Role.ERROR)]


def subject_rows(asked: ApprovalAsk, theme: Theme) -> Iterator[PageRow]:
    """All rows. Lines of a command stay whole for copying."""
    match asked.view:
        case DiffView() as view:
            yield from diff_parts(view, is_numbered=asked.choosable_hunks > 1)
        case DiffsView() as views:
            for file in views.files:
                yield from diff_parts(file)
        case view:
            yield from map(theme.line, whole_view(view))
            for file in asked.verdict.changed:
                yield from diff_parts(file)


def is_diff(asked: ApprovalAsk) -> bool:
    """Whether the request is about changes to files."""
    return isinstance(asked.view, DiffView | DiffsView)
