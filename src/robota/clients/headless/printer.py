"""What every output format is."""

from typing import Protocol

from robota.clients.headless.result import Result
from robota.clients.terminal.text_output import Handlers


class Printer(Protocol):
    """Prints a run. It is called only for the events it has handlers for; an event without one costs nothing."""

    @property
    def handlers(self) -> Handlers: ...

    def finish(self, result: Result) -> None:
        """Print the end. Called once, after the last event."""
        ...
