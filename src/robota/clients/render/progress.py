"""Print the progress of a run, as `--verbose` shows it."""

from typing import Final

from robota.clients.render.call_lines import STEP, result_lines, title_line
from robota.clients.render.view_lines import todo_lines
from robota.clients.terminal.line import DIM, INSET, RED, Handlers, Line
from robota.clients.terminal.line_writer import LineWriter
from robota.protocol.calls import CallPurpose
from robota.protocol.events import (
    ContextReduced,
    Notice,
    RetryScheduled,
    Sandbox,
    TaskModeSwitched,
    TaskSpawned,
    TodosUpdated,
    ToolEnd,
    ToolStart,
    TurnReply,
)

RETRY_CAUSES: Final = {
    "rate_limit": "The model server limits the request rate",
    "overloaded": "The model server is overloaded",
    "server_error": "The model server failed",
    "connection": "The model server cannot be reached",
    "stream_cut": "The answer was cut off",
    "empty_reply": "The model returned an empty answer",
}
REDUCTIONS: Final = {
    "condensed": "conversation condensed",
    "cut": "old tool output removed",
    "restored": "removed content restored for the model",
}


class Progress:
    """Prints the model's text, its calls, and important results."""

    def __init__(self, diagnostics: LineWriter) -> None:
        self._diagnostics = diagnostics
        self._depths: dict[str, int] = {}
        self._margin = ""
        self._titles: dict[str, str] = {}
        self._newest_call = ""

    @property
    def handlers(self) -> Handlers:
        return {
            TurnReply: self._reply,
            ToolStart: self._tool_start,
            ToolEnd: self._tool_end,
            TaskSpawned: self._task_spawned,
            TodosUpdated: self._todos,
            TaskModeSwitched: self._mode_switched,
            RetryScheduled: self._retry,
            ContextReduced: self._context_reduced,
            Notice: self._diagnostics.notice,
            Sandbox: self._diagnostics.sandbox,
        }

    def _show(self, line: Line) -> None:
        indent = None if line.indent is None else self._margin + line.indent
        self._diagnostics.show(Line(self._margin + line.text, line.colour, indent))

    def _line(self, text: str, colour: str | None = None) -> None:
        self._diagnostics.line(self._margin + text, colour)

    def _prose(self, text: str, colour: str | None = None, indent: str = INSET) -> None:
        self._diagnostics.prose(self._margin + text, colour, indent=self._margin + indent)

    def _reply(self, event: TurnReply) -> None:
        """Print text that comes with calls, or ends a subtask; the final answer goes to standard output."""
        self._turn_to(event.task_id)
        words = event.reply.text.strip()
        if words and (event.reply.tool_uses or self._margin):
            self._diagnostics.gap()
            for line in words.splitlines():
                self._prose(line, indent="")

    def _tool_start(self, event: ToolStart) -> None:
        self._turn_to(event.task_id)
        if event.purpose is CallPurpose.COMPLETION and not self._margin:
            return  # its text is the answer, which goes to standard output
        title = event.title or f"{event.label} {event.first_arg}".rstrip()
        self._titles[event.call_id] = title
        self._newest_call = event.call_id
        self._show(title_line(title, self._diagnostics.bullet))

    def _tool_end(self, event: ToolEnd) -> None:
        self._turn_to(event.task_id)
        title = self._titles.pop(event.call_id, f"{event.label} {event.first_arg}".rstrip())
        # Concurrent calls end in any order, so the title is repeated if it is not the newest call.
        which = "" if event.call_id == self._newest_call else title
        for line in result_lines(event.status, event.reason, event.view, event.duration_ms, of=which):
            self._show(line)

    def _task_spawned(self, event: TaskSpawned) -> None:
        self._depths[event.child_task_id] = self._depths.get(event.task_id, 0) + 1

    def _turn_to(self, task_id: str) -> None:
        """Indent the output of a subtask."""
        self._margin = STEP * self._depths.get(task_id, 0)

    def _todos(self, event: TodosUpdated) -> None:
        self._turn_to(event.task_id)
        for line in todo_lines(event.todos):
            self._prose(line.text, line.colour, indent=INSET * 2)

    def _mode_switched(self, event: TaskModeSwitched) -> None:
        self._line(f"{INSET}mode: {event.mode}", DIM)

    def _context_reduced(self, event: ContextReduced) -> None:
        self._turn_to(event.task_id)
        done = REDUCTIONS.get(event.how, "conversation shortened")
        sizes = f"{event.prev_context_tokens:,} to {event.new_context_tokens:,} tokens"
        self._line(f"{INSET}{done}: {sizes}", DIM)

    def _retry(self, event: RetryScheduled) -> None:
        self._turn_to(event.task_id)
        self._prose(f"! {retry_in_words(event)}", RED, indent=STEP)


def retry_in_words(event: RetryScheduled, left_s: int | None = None) -> str:
    """Why and when a request is retried, and how often; `left_s` is the rest of the pause in seconds."""
    cause = RETRY_CAUSES.get(event.error, event.error)
    if event.error_status is not None:
        status = f" (HTTP {event.error_status})"
    else:
        status = f" ({event.reason})" if event.reason else ""
    pause = f"{event.delay_ms / 1000:.1f} s" if left_s is None else f"{left_s} s"
    return f"{cause}{status}. Retrying in {pause} ({event.attempt} of {event.max_retries})."
