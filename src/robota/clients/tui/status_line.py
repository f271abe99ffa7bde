"""Run the user's status command, whose output is shown above the status bar."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from robota.clients.tui.flows.status_report import StatusTimes
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


class StatusRunner:
    """Runs the user's command in the background when its input has changed, and reports its output."""

    def __init__(self, run: RunStatusCommand | None, printed: Callable[[str], None]) -> None:
        self._run = run
        self._printed = printed
        self._reported: object = None
        self._job: asyncio.Task[None] | None = None
        self._view = ViewModel()
        self._begun = time.monotonic()
        self._request_begun: float | None = None
        self._times = StatusTimes()

    def update(self, view: ViewModel, event: Event | None = None) -> None:
        """Run the command after an event, unless its input has not changed."""
        if self._run is None or view.session is None:
            return
        self._count(event)
        self._view = view
        if self._input() != self._reported and (self._job is None or self._job.done()):
            self._job = asyncio.get_running_loop().create_task(self._report(self._run))

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

    async def _report(self, run: RunStatusCommand) -> None:
        while self._reported != self._input():
            await asyncio.sleep(SETTLING_S)
            self._reported = self._input()
            total_ms = round((time.monotonic() - self._begun) * 1000)
            self._printed(await run(self._view, replace(self._times, total_ms=total_ms)))

    def _input(self) -> tuple[Any, ...]:
        """The part of the session that the command depends on."""
        return (self._view.session, self._view.usage, self._view.context, self._times)
