"""The contents of full screens: the transcript, changed files, the preview of an option."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from robota.clients.render.command_text import conversation_lines
from robota.clients.render.view_lines import whole_view
from robota.clients.tui.pages.reader import Reader
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.diff_rows import diff_parts
from robota.clients.tui.widgets.page_row import PageRow
from robota.protocol.slash_commands import (
    CommandOutcome,
    CommandShown,
    ContextShown,
    DiffShown,
    PreviewShown,
    RowsShown,
)
from robota.protocol.unified_diff import files_in
from robota.protocol.views import DiffView

EMPTY_TRANSCRIPT: Final = "The conversation is empty."
NOTHING_TO_SHOW: Final = "There is nothing to show."


def transcript_page(rows: Sequence[PageRow], theme: Theme) -> Reader:
    """The transcript, starting at its end."""
    return Reader(rows or [EMPTY_TRANSCRIPT], theme, from_end=True)


def diff_page(files: Sequence[DiffView], theme: Theme) -> Reader:
    """Changed files, one after another; Tab jumps to the next."""
    rows: list[PageRow] = list(_overview(files, theme))
    sections = [0]
    for file in files:
        sections.append(len(rows) + 1)
        rows += ["", *diff_parts(file)]
    return Reader(rows, theme, sections=sections)


def preview_rows(outcome: CommandOutcome | None, theme: Theme) -> Sequence[PageRow]:
    """The preview of an option, from the command that shows it."""
    return list(_preview(outcome, theme)) or [theme.paint(NOTHING_TO_SHOW, Role.DIM)]


def _preview(outcome: CommandOutcome | None, theme: Theme) -> Iterable[PageRow]:
    match outcome:
        case DiffShown(diff=diff):
            for file in files_in(diff):
                yield from diff_parts(file, indent="")
        case CommandShown(view=view):
            yield from map(theme.line, whole_view(view))
        case RowsShown() | ContextShown() | PreviewShown():
            yield from map(theme.line, conversation_lines(outcome))
        case _:
            return


def _overview(files: Sequence[DiffView], theme: Theme) -> Iterator[str]:
    """The changed files with the size of each change."""
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    yield theme.paint(f"{len(files)} file{'s' if len(files) != 1 else ''} changed, +{added} -{removed}", Role.BOLD)
    for file in files:
        counts = theme.paint(f"+{file.added}", Role.ADDED) + " " + theme.paint(f"-{file.removed}", Role.REMOVED)
        yield f"  {theme.paint(file.path)}  {counts}"
