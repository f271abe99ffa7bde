"""The rows at the bottom: our own status bar, and above it the output of the user's status command."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from robota.clients.tui.flows.status_output import status_rows
from robota.clients.tui.flows.status_report import StatusTimes
from robota.clients.tui.theme import Theme
from robota.clients.tui.widgets.status_bar import StatusFacts, status_row
from robota.clients.view.model import ViewModel
from robota.protocol.appearance import Appearance
from robota.protocol.events import Event, Thinking, ToolEnd
from robota.protocol.views import DiffsView, DiffView

# The command runs when something has changed, and not more often than that.
SETTLING_S: Final = 0.3

RunStatusCommand = Callable[[ViewModel, StatusTimes], Awaitable[str]]


class StatusSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the status line, and the user's command that gets a report of the session and prints rows."""

    appearance: Appearance = Appearance()
    run: RunStatusCommand | None = None


class StatusRows:
    """Runs the command in the background; its last output is shown until there is a new one."""

    def __init__(self, setup: StatusSetup, changed: Callable[[], None]) -> None:
        self.appearance = setup.appearance
        self._run = setup.run
        self._changed = changed
        self._said = ""
        self._told: object = None
        self._job: asyncio.Task[None] | None = None
        self._view = ViewModel()
        self._begun = time.monotonic()
        self._request_begun: float | None = None
        self._times = StatusTimes()

    def rows(self, view: ViewModel, facts: StatusFacts, theme: Theme, width: int) -> list[str]:
        """The rows, from above."""
        facts = msgspec.structs.replace(
            facts,
            git_branch=facts.git_branch if self.appearance.shows_git_branch else "",
            is_short=not self.appearance.has_status_line,
        )
        said = self._said if self.appearance.has_status_line else ""
        return [*status_rows(said, width, has_colour=theme.has_colours), status_row(view, facts, theme, width)]

    def look(self, view: ViewModel, event: Event | None = None) -> None:
        """Run the command after an event, unless its input has not changed."""
        if self._run is None or view.session is None:
            return
        self._count(event)
        told = self._depends(view)
        self._view = view
        if told != self._told and (self._job is None or self._job.done()):
            self._job = asyncio.get_running_loop().create_task(self._ask(self._run))

    def _count(self, event: Event | None) -> None:
        times = self._times
        match event:
            case Thinking(is_thinking=True):
                self._request_begun = time.monotonic()
            case Thinking() if self._request_begun is not None:
                took = round((time.monotonic() - self._request_begun) * 1000)
                self._times = replace(times, requests_ms=times.requests_ms + took)
                self._request_begun = None
            case ToolEnd(status="success", view=DiffView() as diff):
                self._add((diff,))
            case ToolEnd(status="success", view=DiffsView() as diffs):
                self._add(diffs.files)

    def _add(self, files: Sequence[DiffView]) -> None:
        added, removed = sum(file.added for file in files), sum(file.removed for file in files)
        times = self._times
        self._times = replace(times, lines_added=times.lines_added + added, lines_removed=times.lines_removed + removed)

    def close(self) -> None:
        """Stop running the command."""
        if self._job is not None:
            self._job.cancel()

    async def _ask(self, run: RunStatusCommand) -> None:
        while self._told != self._depends(self._view):
            await asyncio.sleep(SETTLING_S)
            self._told = self._depends(self._view)
            since = round((time.monotonic() - self._begun) * 1000)
            self._said = await run(self._view, replace(self._times, total_ms=since))
            self._changed()

    def _depends(self, view: ViewModel) -> tuple[Any, ...]:
        """The input that the command depends on."""
        return (view.session, view.usage, view.context, self._times)
