"""Print a line from time to time while something takes long."""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Final

import msgspec

from robota.clients.terminal.line import DIM, INSET, Handlers
from robota.clients.terminal.line_writer import LineWriter
from robota.clients.view.model import ViewModel
from robota.protocol.events import (
    MessageCreated,
    TaskAskResponded,
    TextDelta,
    Thinking,
    ToolEnd,
    ToolStart,
)

MAX_LENGTH: Final = 100


class WaitNotice(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a notice, and after how many seconds it is printed; the last number is also its interval."""

    words: str
    seconds: tuple[float, ...]


WITH_CALLS: Final = WaitNotice(words="still running", seconds=(3, 10, 30, 60))
WITH_THE_MODEL: Final = WaitNotice(words="waiting for the model", seconds=(10, 30, 60))


class StillRunning:
    """Watches the newest call, or the model. Prints nothing while a question is open."""

    def __init__(
        self, diagnostics: LineWriter, view: Callable[[], ViewModel], with_calls: WaitNotice = WITH_CALLS
    ) -> None:
        self._diagnostics = diagnostics
        self._view = view
        self._with_calls = with_calls
        self._wait_notice = with_calls
        self._timer: asyncio.TimerHandle | None = None
        self._call: str | None = None
        self._since = 0.0

    @property
    def handlers(self) -> Handlers:
        return {
            ToolStart: lambda event: self._begin(self._with_calls, event.call_id),
            TaskAskResponded: lambda event: self._begin(self._with_calls, self._call) if self._call else None,
            ToolEnd: lambda event: self.stop() if event.call_id == self._call else None,
            Thinking: lambda event: self._begin(WITH_THE_MODEL, None) if event.is_thinking else self.stop(),
            TextDelta: lambda event: self.stop(),
            MessageCreated: self._created,
        }

    def stop(self) -> None:
        self._call = None
        self._pause()

    def _begin(self, wait_notice: WaitNotice, call: str | None) -> None:
        self._pause()
        self._wait_notice, self._call, self._output = wait_notice, call, ""
        self._since = monotonic()
        self._wait(0)

    def _created(self, event: MessageCreated) -> None:
        row = event.message
        if row.ask is not None:
            self._pause()  # until it is answered
        elif row.say == "text":
            self.stop()

    def _wait(self, shown: int) -> None:
        seconds = self._wait_notice.seconds
        pause = seconds[shown] - (seconds[shown - 1] if shown else 0) if shown < len(seconds) else seconds[-1]
        self._timer = asyncio.get_running_loop().call_later(pause, self._show, shown + 1)

    def _show(self, shown: int) -> None:
        call = self._view().tools.get(self._call or "")
        output = call.output if call is not None else ""
        lines = [line for line in output.replace("\r", "\n").split("\n") if line.strip()]
        last, passed = lines[-1][:MAX_LENGTH] if lines else "", round(monotonic() - self._since)
        notice = f"| {last}  ({passed} s)" if last else f"({self._wait_notice.words}, {passed} s)"
        self._diagnostics.line(INSET + notice, DIM)
        self._wait(shown)

    def _pause(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
