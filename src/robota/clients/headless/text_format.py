"""`--output-format text`: the answer on standard output, everything else on standard error."""

from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from robota.clients.headless.outcome import LOG_FAILED
from robota.clients.headless.output import Output
from robota.clients.headless.result import Result
from robota.clients.terminal.line import Handlers
from robota.clients.terminal.line_writer import LineWriter
from robota.protocol.events import Notice, RetryScheduled, Sandbox, ToolEnd

if TYPE_CHECKING:
    from robota.clients.render.line_transcript import LineTranscript

# Users do not notice a shorter pause.
WORTH_TELLING_MS: Final = 2000


class TextPrinter:
    """Prints the complete answer. A run that failed before it had one prints none, so that a pipe gets none."""

    def __init__(self, output: Output, diagnostics: LineWriter, *, verbose: bool) -> None:
        self._output = output
        self._diagnostics = diagnostics
        self._progress = _progress(diagnostics) if verbose else None
        self._denied: list[ToolEnd] = []
        self.is_answer_shown = False  # it was streamed by `LivePrinter`

    @property
    def handlers(self) -> Handlers:
        if self._progress is not None:
            return self._progress.handlers
        return {
            ToolEnd: self._tool_end,
            RetryScheduled: self._retry,
            Notice: self._diagnostics.warning,
            Sandbox: self._diagnostics.sandbox,
        }

    def finish(self, result: Result) -> None:
        for call in self._denied:
            why = f": {call.reason}" if call.reason else ""
            self._diagnostics.prose(f"robota: not allowed: {call.label} {call.first_arg}{why}", indent="  ")
        if result.errors is not UNSET:
            self._diagnostics.errors(result.errors)
        is_complete = not result.is_error or result.terminal_reason == LOG_FAILED
        if is_complete and not self.is_answer_shown:
            if self._progress is not None:
                self._diagnostics.gap()
            self._output.text(result.result if result.result.endswith("\n") else result.result + "\n")

    def _tool_end(self, event: ToolEnd) -> None:
        if event.status == "denied":
            self._denied.append(event)

    def _retry(self, event: RetryScheduled) -> None:
        """Report a retry: without it, a run that waits for its server seems to hang."""
        if event.delay_ms >= WORTH_TELLING_MS:
            from robota.clients.view.transcript import retry_in_words

            self._diagnostics.prose(f"robota: {retry_in_words(event)}", indent="  ")


def _progress(diagnostics: LineWriter) -> "LineTranscript":
    from robota.clients.render.line_transcript import PROGRESS_EVENTS, LineTranscript

    return LineTranscript(diagnostics, PROGRESS_EVENTS)
