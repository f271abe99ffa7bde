"""`--output-format json`: one object at the end."""

from robota.clients.headless.output import Output
from robota.clients.headless.result import Result
from robota.clients.terminal.line_writer import LineWriter
from robota.clients.terminal.text_output import Handlers
from robota.protocol.events import Notice, Sandbox


class JsonPrinter:
    def __init__(self, output: Output, diagnostics: LineWriter) -> None:
        self._output = output
        self._diagnostics = diagnostics

    @property
    def handlers(self) -> Handlers:
        return {Notice: self._diagnostics.warning, Sandbox: self._diagnostics.sandbox}

    def finish(self, result: Result) -> None:
        self._output.json_line(result)
