"""Print mode at a terminal: progress and cost on standard error, the streamed answer on standard output.

Not imported if both are files or pipes.
"""

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from robota.clients.headless.outcome import PARAGRAPH
from robota.clients.headless.output import Output
from robota.clients.headless.result import Result
from robota.clients.headless.text_format import TextPrinter
from robota.clients.terminal.line import DIM, RED, Handlers
from robota.clients.terminal.line_writer import LineWriter
from robota.protocol.calls import CallPurpose
from robota.protocol.events import (
    MessageCreated,
    MessageUpdated,
    TaskSpawned,
    TaskTokenUsageUpdated,
    TextDelta,
    Thinking,
    ToolEnd,
    ToolStart,
)
from robota.protocol.message import Message
from robota.protocol.state import is_request_row
from robota.text.counted import counted

if TYPE_CHECKING:
    from robota.clients.headless.formats import Printer

TICK_S: Final = 1.0
MAX_TITLE_LENGTH: Final = 50


class LivePrinter:
    """Adds progress to a printer, unless it shows progress itself, and a summary after it.

    `streamed` is the output for streamed text; None if the answer is printed at the end.
    """

    def __init__(
        self, inner: "Printer", diagnostics: LineWriter, streamed: Output | None, *, has_progress: bool
    ) -> None:
        self._inner = inner
        self._diagnostics = diagnostics
        self._has_progress = has_progress
        self._status = StatusLine(diagnostics)
        self._words = None if streamed is None else StreamedWords(streamed)

    @property
    def handlers(self) -> Handlers:
        if not self._has_progress:
            return self._inner.handlers
        own: dict[type, Any] = {
            Thinking: self._thinking,
            ToolStart: self._tool_start,
            ToolEnd: self._tool_end,
            TaskTokenUsageUpdated: self._status.count,
        }
        if self._words is not None:
            own |= self._words.handlers
        kinds = {*own, *self._inner.handlers}
        return {kind: self._both(own.get(kind), self._inner.handlers.get(kind)) for kind in kinds}

    def finish(self, result: Result) -> None:
        """Remove the status, print the answer or the rest of it, and then the summary."""
        self._status.end()
        if self._words is not None and isinstance(self._inner, TextPrinter):
            self._inner.is_answer_shown = self._words.end_with(result.result) and not result.is_error
        self._inner.finish(result)
        if result.session_id:
            self._diagnostics.line(summary(result), DIM)
            self._diagnostics.line(f"Continue: robota -r {result.session_id}", DIM)

    def _both(self, own: Any, inner: Any) -> Any:
        def handle(event: Any) -> None:
            self._status.clear()
            if own is not None:
                own(event)
            if inner is not None:
                inner(event)
            if self._words is None or not self._words.is_open:
                self._status.show()

        return handle

    def _thinking(self, event: Thinking) -> None:
        self._status.turn_to("waiting for the model" if event.is_thinking else "")

    def _tool_start(self, event: ToolStart) -> None:
        if self._words is not None:
            self._words.break_line()  # so that the status is on a separate row
        self._status.turn_to(_title(event))

    def _tool_end(self, event: ToolEnd) -> None:
        self._status.turn_to("")
        if self._words is not None:
            self._words.break_line()
        failed = "" if event.status == "success" else f" ({event.status})"
        line = f"{self._diagnostics.bullet} {f'{event.label} {event.first_arg}'.rstrip()[:MAX_TITLE_LENGTH]}{failed}"
        self._diagnostics.line(f"{line}  {event.duration_ms / 1000:.1f} s", RED if failed else DIM)


class StatusLine:
    """A row at the end of the screen that is overwritten; empty if the terminal cannot move the cursor."""

    def __init__(self, diagnostics: LineWriter) -> None:
        self._diagnostics = diagnostics
        self._started = time.monotonic()
        self._what = ""
        self._used = ""
        self._is_shown = False
        self._timer: asyncio.TimerHandle | None = None

    def turn_to(self, what: str) -> None:
        """Set what is running now; empty if nothing is."""
        self._what = what

    def count(self, event: TaskTokenUsageUpdated) -> None:
        """Set the usage of the task so far."""
        usage, cost = event.usage, event.token_usage.total_cost
        tokens = usage.input_tokens + usage.output_tokens
        self._used = (f" · {tokens:,} tokens" if tokens else "") + (f" · ${cost:.4f}" if cost else "")

    def show(self) -> None:
        """Draw it, and again every second while something is running."""
        if not self._what:
            return
        elapsed = f"{time.monotonic() - self._started:.0f} s"
        self._is_shown = self._diagnostics.status(f"… {self._what} · {elapsed}{self._used}")
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self.show) if self._is_shown else None

    def clear(self) -> None:
        """Erase it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_shown:
            self._diagnostics.status("")
            self._is_shown = False

    def end(self) -> None:
        """Erase it and stop drawing."""
        self._what = ""
        self.clear()


class StreamedWords:
    """Streams the model's text to standard output, except in subtasks, whose text goes to their parent."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._subtasks: set[str] = set()
        self._row: int | None = None
        self._written = ""  # of the last row
        self._before = ""  # of the rows before it in the same reply, as paragraphs
        self.is_open = False  # whether the current line contains text

    @property
    def handlers(self) -> Handlers:
        return {
            TaskSpawned: self._spawned,
            MessageCreated: self._created,
            MessageUpdated: self._updated,
            TextDelta: self._delta,
        }

    def end_with(self, answer: str) -> bool:
        """Whether the answer was streamed as the last text; if so, its line is ended."""
        stands_there = bool(answer.strip()) and (self._before + self._written).strip() == answer.strip()
        self.break_line()
        return stands_there

    def break_line(self) -> None:
        """End the current line, if it contains text."""
        if self.is_open:
            self._output.text("\n")
            self.is_open = False

    def _spawned(self, event: TaskSpawned) -> None:
        self._subtasks.add(event.child_task_id)

    def _created(self, event: MessageCreated) -> None:
        message = event.message
        if is_request_row(message) and event.task_id not in self._subtasks:
            self._written = self._before = ""
        if message.say == "text" and message.partial is True and event.task_id not in self._subtasks:
            self._begin(message)

    def _begin(self, message: Message) -> None:
        if self._written:
            self._before += self._written + PARAGRAPH
            self._output.text(PARAGRAPH)
            self.is_open = False
        self.break_line()
        self._row, self._written = message.ts, ""
        self._write(message.text or "")

    def _delta(self, event: TextDelta) -> None:
        if event.ts == self._row:
            self._write(event.delta)

    def _updated(self, event: MessageUpdated) -> None:
        message = event.message
        if message.ts == self._row and (message.text or "").startswith(self._written):
            self._write((message.text or "")[len(self._written) :])

    def _write(self, text: str) -> None:
        if not text:
            return
        self._written += text
        self._output.text(text)
        self.is_open = not text.endswith("\n")


def summary(result: Result) -> str:
    """The duration and the usage of a run, as a line."""
    usage = result.usage
    parts = [f"{result.duration_ms / 1000:.1f} s", counted(result.num_turns, "request")]
    if tokens := usage.input_tokens + usage.output_tokens:
        parts.append(f"{tokens:,} tokens")
    if result.total_cost_usd:
        parts.append(f"${result.total_cost_usd:.4f}")
    return ", ".join(parts)


def _title(event: ToolStart) -> str:
    if event.purpose is CallPurpose.COMPLETION:
        return ""
    return (event.title or f"{event.label} {event.first_arg}".rstrip())[:MAX_TITLE_LENGTH]
