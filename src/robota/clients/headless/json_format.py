"""`--output-format json`: one object at the end."""

from robota.clients.headless.output import Output
from robota.clients.headless.result import Result
from robota.clients.render.diagnostics import Diagnostics
from robota.clients.render.safe_text import Handlers
from robota.protocol.events import Notice, Sandbox


class JsonPrinter:
    def __init__(self, output: Output, diagnostics: Diagnostics) -> None:
        self._output = output
        self._diagnostics = diagnostics

    @property
    def handlers(self) -> Handlers:
        return {Notice: self._diagnostics.warning, Sandbox: self._diagnostics.sandbox}

    def finish(self, result: Result) -> None:
        self._output.json_line(result)
