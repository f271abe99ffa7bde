"""`--output-format text`: the answer on standard output, everything else on standard error."""

from msgspec import UNSET

from robota.clients.headless.diagnostics import Diagnostics
from robota.clients.headless.output import Output
from robota.clients.headless.progress import Progress
from robota.clients.headless.result import Result
from robota.clients.headless.tally import Handlers
from robota.protocol.events import Notice, ToolEnd


class TextPrinter:
    """Prints the answer when it is whole. A failed run prints no answer, so that a pipe gets none."""

    def __init__(self, output: Output, diagnostics: Diagnostics, *, verbose: bool) -> None:
        self._output = output
        self._diagnostics = diagnostics
        self._progress = Progress(diagnostics) if verbose else None
        self._denied: list[ToolEnd] = []

    @property
    def handlers(self) -> Handlers:
        if self._progress is not None:
            return self._progress.handlers
        return {ToolEnd: self._tool_end, Notice: self._diagnostics.warning}

    def finish(self, result: Result) -> None:
        for call in self._denied:
            why = f": {call.reason}" if call.reason else ""
            self._diagnostics.line(f"robota: not allowed: {call.label} {call.first_arg}{why}")
        if result.errors is not UNSET:
            self._diagnostics.errors(result.errors)
        if self._progress is not None:
            self._diagnostics.line("")
        if not result.is_error:
            self._output.text(result.result if result.result.endswith("\n") else result.result + "\n")

    def _tool_end(self, event: ToolEnd) -> None:
        if event.status == "denied":
            self._denied.append(event)
