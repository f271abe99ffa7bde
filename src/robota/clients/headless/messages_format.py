"""`--output-format messages`: the ask/say messages themselves, one per line."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from robota.clients.headless.output import Output
from robota.clients.headless.result import Result
from robota.clients.terminal.line import Handlers
from robota.clients.terminal.line_writer import LineWriter
from robota.protocol.events import (
    MessageCreated,
    MessageUpdated,
    Notice,
    PartialMessage,
    Sandbox,
    TaskSpawned,
    TextDelta,
)
from robota.protocol.message import Message
from robota.protocol.state import detect_agent_state, is_request_row

GROWTH: Final = 16


class MessagesPrinter:
    """Prints a row when it is complete, and again when a complete row changes; `ts` identifies the row.

    With partials, a streaming row is printed each time it has grown by a sixteenth, so that the output stays
    proportional to the text and not to its square. The rows of agents are not printed: they have logs of their own, and
    between these rows they would say that the task is in another state.
    """

    def __init__(self, output: Output, diagnostics: LineWriter, *, partials: bool) -> None:
        self._output = output
        self._diagnostics = diagnostics
        self._partials = partials
        self._streaming: dict[int, PartialRow] = {}
        self._agent_tasks: set[str] = set()

    @property
    def handlers(self) -> Handlers:
        whole: Handlers = {
            MessageCreated: self._row,
            MessageUpdated: self._row,
            Notice: self._diagnostics.warning,
            Sandbox: self._diagnostics.sandbox,
            TaskSpawned: self._spawned,
        }
        return {**whole, PartialMessage: self._delta, TextDelta: self._delta} if self._partials else whole

    def finish(self, result: Result) -> None:
        if result.errors is not UNSET:
            self._diagnostics.errors(result.errors)

    def _spawned(self, event: TaskSpawned) -> None:
        if event.agent_id is not None or event.task_id in self._agent_tasks:
            self._agent_tasks.add(event.child_task_id)

    def _row(self, event: MessageCreated | MessageUpdated) -> None:
        message = event.message
        if event.task_id in self._agent_tasks:
            return
        if self._partials and message.partial is True:
            self._streaming[message.ts] = PartialRow(message)
        else:
            self._streaming.pop(message.ts, None)
        if self._partials or is_complete(message):
            self._output.json_line(message)

    def _delta(self, event: PartialMessage | TextDelta) -> None:
        row = self._streaming.get(event.ts)
        grown = row.grown(event.delta) if row is not None else None
        if grown is not None:
            self._output.json_line(grown)


class PartialRow:
    """A row being streamed and how much of it has been printed."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self._pieces = [message.text or ""]
        self._length = self._printed = len(self._pieces[0])

    def grown(self, delta: str) -> Message | None:
        """The row as it is now, if it has grown enough to print it again."""
        self._pieces.append(delta)
        self._length += len(delta)
        if (self._length - self._printed) * GROWTH < self._length:
            return None
        self._printed = self._length
        self._pieces = ["".join(self._pieces)]
        return replace(self._message, text=self._pieces[0])


def is_complete(message: Message) -> bool:
    """Whether it is neither streaming nor a request in progress."""
    if message.partial is True:
        return False
    return not (is_request_row(message) and detect_agent_state([message]).is_streaming)
