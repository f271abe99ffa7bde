"""Rows of a finished call: its marker and title, its changes or output, shortened or complete."""

from collections.abc import Callable, Iterator
from typing import Final, assert_never

from robota.clients.render.view_lines import whole_view
from robota.clients.terminal.width import wrapped
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.diff_rows import diff_parts, diff_text
from robota.clients.tui.widgets.live_rows import ENDED_MARK, MARK_WIDTH, shortened, title_of
from robota.clients.tui.widgets.page_row import PageRow
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
MAX_REASON_LINES: Final = 6
STATUS_ROLES: Final = {"success": Role.SUCCESS, "error": Role.ERROR}


def call_rows(call: LiveTool, theme: Theme, width: int) -> Iterator[str]:
    """The row of the call, then its result in short; no row is wider than the screen."""
    yield from _head_rows(call, theme, width, shortened)
    yield from view_rows(call.view, theme, width)


def whole_call_rows(call: LiveTool, theme: Theme, width: int) -> Iterator[PageRow]:
    """The row of the call, then its whole result."""
    yield from _head_rows(call, theme, width, lambda title, room: title)
    match call.view:
        case DiffView() | DiffsView() as view:
            for file in (view,) if isinstance(view, DiffView) else view.files:
                yield from diff_parts(file)
        case TerminalView() as view:
            yield from _output(view, theme, width, is_whole=True)
        case TextView() | FieldsView() | TableView() | PartsView() | TodoView() as view:
            yield from map(theme.line, whole_view(view))
        case None:
            return
        case never:
            assert_never(never)


def view_rows(view: View | None, theme: Theme, width: int) -> Iterator[str]:
    """The rows of a result in short: only changes, and the end of an output."""
    match view:
        case DiffView() | DiffsView():
            for file in (view,) if isinstance(view, DiffView) else view.files:
                yield from diff_text(file, theme, width)
        case TerminalView():
            yield from _output(view, theme, width, is_whole=False)
        case TextView() | FieldsView() | TableView() | PartsView() | TodoView() | None:
            return
        case never:
            assert_never(never)


def _head_rows(call: LiveTool, theme: Theme, width: int, cut: Callable[[str, int], str]) -> Iterator[str]:
    time = f"  {call.duration_ms / 1000:.1f} s" if call.duration_ms >= WORTH_TELLING_MS else ""
    role = Role.ERROR if _failed(call.view) else STATUS_ROLES.get(call.status, Role.WARNING)
    status_text = "" if call.status in STATUS_ROLES else f"  {call.status}"
    title = theme.paint(cut(title_of(call), width - MARK_WIDTH - len(status_text) - len(time)), Role.BOLD)
    yield f"{theme.paint(ENDED_MARK, role)} {title}{theme.paint(status_text, role)}{theme.paint(time, Role.DIM)}"
    if call.status != "success" and call.reason:
        yield from (theme.paint(line, role) for line in _reason_lines(call.reason, width))


def _reason_lines(reason: str, width: int) -> Iterator[str]:
    """The beginning of a reason, which can quote lines of a file."""
    lines = reason.split("\n")
    for line in lines[:MAX_REASON_LINES]:
        yield from wrapped(f"    {single_line(line, MAX_REASON_LENGTH)}", width, "    ").split("\n")
    if len(lines) > MAX_REASON_LINES:
        yield f"    ... +{counted(len(lines) - MAX_REASON_LINES, 'line')}"


def _output(view: TerminalView, theme: Theme, width: int, *, is_whole: bool) -> Iterator[str]:
    if is_whole:
        yield from (f"    {theme.paint(f'$ {line}', Role.BOLD)}" for line in view.command.split("\n"))
    lines = view.output.rstrip("\n").split("\n") if view.output.strip() else []
    shown = lines if is_whole or len(lines) == OUTPUT_LINES + 1 else lines[-OUTPUT_LINES:]
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
