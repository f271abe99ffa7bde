"""Full screens of a conversation: the transcript, the diff viewer, lists with previews."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

from robota.clients.render.command_text import conversation_lines
from robota.clients.render.view_lines import whole_view
from robota.clients.tui.pages.browser import BrowsedList
from robota.clients.tui.pages.reader import Reader
from robota.clients.tui.screen.live_region import LiveRegion
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.diff_rows import diff_text
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOption,
    CommandOutcome,
    CommandShown,
    ContextShown,
    DiffShown,
    PreviewShown,
    RowsShown,
)
from robota.protocol.unified_diff import files_in
from robota.protocol.views import DiffView

NOTHING_TO_SEE: Final = "There is nothing to show."


class Commands(Protocol):
    """Runs a command and returns its outcome."""

    async def outcome(self, line: str) -> CommandOutcome | None: ...


class Screens:
    """Opens full screens one at a time; the conversation continues in the background."""

    def __init__(self, region: LiveRegion, theme: Theme, commands: Commands) -> None:
        self._region = region
        self._theme = theme
        self._commands = commands

    async def read(self, rows: Sequence[str]) -> None:
        """Show the transcript, starting at its end."""
        await self._show(Reader(rows, self._theme, from_end=True))

    async def read_diff(self, files: Sequence[DiffView]) -> None:
        """Show changed files, one after another; Tab jumps to the next."""
        rows = list(_overview(files, self._theme))
        sections = [0]
        for file in files:
            sections.append(len(rows) + 1)
            rows += ["", *diff_text(file, self._theme, is_whole=True)]
        await self._show(Reader(rows, self._theme, sections=sections))

    async def pick(
        self, choice: CommandChoice, start: Callable[[CommandOption, BrowsedList], None]
    ) -> CommandOption | None:
        """Let the user choose; returns the option, or None if they cancelled."""
        browser = BrowsedList(choice, self._theme, lambda option: start(option, browser))
        await self._show(browser)
        return browser.picked

    async def load_preview(self, option: CommandOption, browser: BrowsedList) -> None:
        """Load the preview of an option and show it."""
        outcome = await self._commands.outcome(option.preview)
        browser.show(option, list(preview_rows(outcome, self._theme)) or [self._theme.paint(NOTHING_TO_SEE, Role.DIM)])
        self._region.full_screen.redraw()

    async def _show(self, page: Reader | BrowsedList) -> None:
        async with self._region.lent():
            await self._region.full_screen.show(page)


def preview_rows(outcome: CommandOutcome | None, theme: Theme) -> Iterable[str]:
    """The preview of an option, from the command that shows it."""
    match outcome:
        case DiffShown(diff=diff):
            for file in files_in(diff):
                yield from diff_text(file, theme, is_whole=True)
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
