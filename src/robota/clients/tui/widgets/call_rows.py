"""Rows of a finished call: its marker and title, its changes or output, shortened or complete."""

from collections.abc import Iterator
from typing import Final, assert_never

from robota.clients.render.view_lines import whole_view
from robota.clients.terminal.width import wrapped
from robota.clients.tui.painted_rows import wrap_row
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.diff_rows import diff_text
from robota.clients.tui.widgets.live_rows import ENDED_MARK, MARK_WIDTH, shortened, title_of
from robota.clients.view.model import LiveTool
from robota.protocol.views import (
    DiffsView,
    DiffView,
    FieldsView,
    PartsView,
    TableView,
    TerminalView,
    TextView,
    TodoView,
    View,
)
from robota.text.counted import counted
from robota.text.visible import single_line

OUTPUT_LINES: Final = 4
# The rest of a longer line is ignored.
MAX_LINE_LENGTH: Final = 1000
WORTH_TELLING_MS: Final = 1000
MAX_REASON_LENGTH: Final = 400
STATUS_ROLES: Final = {"success": Role.SUCCESS, "error": Role.ERROR}


def call_rows(call: LiveTool, theme: Theme, width: int, *, is_whole: bool = False) -> Iterator[str]:
    """The row of the call, then its result; shortened, no row is wider than the screen."""
    time = f"  {call.duration_ms / 1000:.1f} s" if call.duration_ms >= WORTH_TELLING_MS else ""
    role = Role.ERROR if _failed(call.view) else STATUS_ROLES.get(call.status, Role.WARNING)
    status_text = "" if call.status in STATUS_ROLES else f"  {call.status}"
    room = width - MARK_WIDTH - len(status_text) - len(time)
    title = theme.paint(title_of(call) if is_whole else shortened(title_of(call), room), Role.BOLD)
    yield f"{theme.paint(ENDED_MARK, role)} {title}{theme.paint(status_text, role)}{theme.paint(time, Role.DIM)}"
    if call.status != "success" and call.reason:
        reason = wrapped(f"    {single_line(call.reason, MAX_REASON_LENGTH)}", width, "    ")
        yield from (theme.paint(line, role) for line in reason.split("\n"))
    yield from view_rows(call.view, theme, width, is_whole=is_whole)


def view_rows(view: View | None, theme: Theme, width: int, *, is_whole: bool = False) -> Iterator[str]:
    """The rows of a result; shortened, only changes and the end of an output."""
    match view:
        case DiffView():
            yield from _diff(view, theme, width, is_whole)
        case DiffsView():
            for file in view.files:
                yield from _diff(file, theme, width, is_whole)
        case TerminalView():
            yield from _output(view, theme, width, is_whole)
        case TextView() | FieldsView() | TableView() | PartsView() | TodoView():
            if is_whole:
                yield from map(theme.line, whole_view(view))
        case None:
            return
        case never:
            assert_never(never)


def _diff(view: DiffView, theme: Theme, width: int, is_whole: bool) -> Iterator[str]:
    rows = diff_text(view, theme, is_whole=is_whole)
    yield from rows if is_whole else (part for row in rows for part in wrap_row(row, width))


def _output(view: TerminalView, theme: Theme, width: int, is_whole: bool) -> Iterator[str]:
    if is_whole:
        yield from (f"    {theme.paint(f'$ {line}', Role.BOLD)}" for line in view.command.split("\n"))
    lines = view.output.rstrip("\n").split("\n") if view.output.strip() else []
    shown = lines if is_whole else lines[-OUTPUT_LINES:]
    if len(shown) < len(lines):
        yield "    " + theme.paint(f"... +{counted(len(lines) - len(shown), 'line')} (Ctrl+O shows all)", Role.DIM)
    if is_whole:
        yield from ("    " + theme.paint(line, Role.DIM) for line in shown)
    else:
        yield from (theme.row([(f"    {line[:MAX_LINE_LENGTH]}", Role.DIM)], width) for line in shown)
    if view.timed_out:
        yield "    " + theme.paint("timed out", Role.ERROR)
    elif view.exit_code:
        yield "    " + theme.paint(f"exit code {view.exit_code}", Role.ERROR)
    elif view.signal is not None:
        yield "    " + theme.paint(f"ended by {view.signal}", Role.ERROR)


def _failed(view: View | None) -> bool:
    return isinstance(view, TerminalView) and (view.timed_out or bool(view.exit_code) or view.signal is not None)
