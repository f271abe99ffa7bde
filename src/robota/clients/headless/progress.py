"""What `--verbose` shows of a run while it goes on."""

from typing import Final

from robota.clients.headless.diagnostics import BOLD, DIM, GREEN, RED, Diagnostics
from robota.clients.headless.tally import Handlers
from robota.protocol.events import Notice, RetryScheduled, ToolEnd, ToolStart, TurnReply
from robota.protocol.views import DiffsView, DiffView, TerminalView, View

DIFF_LINES_SHOWN: Final = 20
OUTPUT_LINES_SHOWN: Final = 10
WORTH_TELLING_MS: Final = 1000
DIFF_SIGNS: Final = {"add": ("+", GREEN), "remove": ("-", RED)}


class Progress:
    """The model's words, the calls it makes, and what came of those that are worth a look."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._line = diagnostics.line
        self._mark = diagnostics.bullet

    @property
    def handlers(self) -> Handlers:
        return {
            TurnReply: self._reply,
            ToolStart: self._tool_start,
            ToolEnd: self._tool_end,
            RetryScheduled: self._retry,
            Notice: self._diagnostics.notice,
        }

    def _reply(self, event: TurnReply) -> None:
        """Words that come with calls; the last words are the answer and go to standard output."""
        if event.reply.tool_uses and event.reply.text.strip():
            self._line(f"\n{event.reply.text.strip()}")

    def _tool_start(self, event: ToolStart) -> None:
        self._line(f"{self._mark} {event.label} {event.first_arg}".rstrip(), BOLD)

    def _tool_end(self, event: ToolEnd) -> None:
        if event.status != "success":
            # The call is named again, because calls that run side by side end in any order.
            why = f": {event.reason}" if event.reason else ""
            self._line(f"    {event.status}: {event.label} {event.first_arg}{why}", RED)
        self._view(event.view)
        if event.duration_ms >= WORTH_TELLING_MS:
            self._line(f"    {event.duration_ms / 1000:.1f} s", DIM)

    def _view(self, view: View | None) -> None:
        if isinstance(view, DiffView):
            self._diff(view)
        elif isinstance(view, DiffsView):
            for file in view.files:
                self._diff(file)
        elif isinstance(view, TerminalView):
            self._terminal(view)

    def _diff(self, view: DiffView) -> None:
        self._line(f"    {view.path} +{view.added} -{view.removed}", DIM)
        lines = [line for hunk in view.hunks for line in hunk.lines]
        for line in lines[:DIFF_LINES_SHOWN]:
            sign, colour = DIFF_SIGNS.get(line.kind, (" ", None))
            self._line(f"    {sign} {line.text}".rstrip("\r\n"), colour)
        if len(lines) > DIFF_LINES_SHOWN:
            self._line(f"    ({len(lines) - DIFF_LINES_SHOWN} more lines)", DIM)

    def _terminal(self, view: TerminalView) -> None:
        lines = view.output.splitlines()
        if len(lines) > OUTPUT_LINES_SHOWN:
            self._line(f"    ({len(lines) - OUTPUT_LINES_SHOWN} lines before)", DIM)
        for line in lines[-OUTPUT_LINES_SHOWN:]:
            self._line(f"    | {line}", DIM)
        if view.timed_out:
            self._line("    timed out", RED)
        elif view.exit_code:
            self._line(f"    exit code {view.exit_code}", RED)
        elif view.signal is not None:
            self._line(f"    ended by {view.signal}", RED)

    def _retry(self, event: RetryScheduled) -> None:
        pause = f"{event.delay_ms / 1000:.1f} s"
        self._line(f"! {event.error}; try {event.attempt} of {event.max_retries} in {pause}", RED)
