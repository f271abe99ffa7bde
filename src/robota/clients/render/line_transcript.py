"""The transcript as lines: the plain interface streams it, `--verbose` prints it next to the answer."""

from typing import Any, Final, assert_never

from robota.clients.render.turn_usage import TurnUsage
from robota.clients.render.view_lines import STEP, result_lines, title_line, todo_lines
from robota.clients.terminal.line import DIM, INSET, RED, Handlers, Line
from robota.clients.terminal.line_writer import LineWriter
from robota.clients.view.model import LiveTool, ViewModel
from robota.clients.view.transcript import (
    AnswerFinished,
    AnswerGrew,
    AnswerStarted,
    CallFinished,
    CallStarted,
    Entry,
    PlanChanged,
    PromptSaid,
    ReasoningSaid,
    Remark,
    RemarkKind,
    ReplySaid,
    RetryPlanned,
    Transcript,
    retry_in_words,
)
from robota.protocol.calls import SPEAKING, CallPurpose
from robota.protocol.events import (
    ContextReduced,
    Event,
    MessageCreated,
    MessageUpdated,
    Notice,
    RetryScheduled,
    Sandbox,
    TaskModeSwitched,
    TaskSpawned,
    TextDelta,
    TodosUpdated,
    ToolEnd,
    ToolStart,
    TurnReply,
)
from robota.protocol.views import DiffsView, DiffView

WORK_EVENTS: Final = (
    ToolStart,
    ToolEnd,
    TaskSpawned,
    TodosUpdated,
    TaskModeSwitched,
    RetryScheduled,
    ContextReduced,
)
PROGRESS_EVENTS: Final = (TurnReply, *WORK_EVENTS)
CONVERSATION_EVENTS: Final = (MessageCreated, MessageUpdated, TextDelta, *WORK_EVENTS)


class LineTranscript:
    """Prints the entries of the transcript as lines. `kinds` are the events that it follows."""

    def __init__(self, diagnostics: LineWriter, kinds: tuple[type[Event], ...]) -> None:
        self.transcript = Transcript()
        self.usage = TurnUsage()
        self._diagnostics = diagnostics
        self._kinds = kinds
        self._margin = ""  # subtasks are indented
        self._has_text = False  # the streaming answer

    @property
    def handlers(self) -> Handlers:
        handlers: dict[type, Any] = dict.fromkeys(self._kinds, self._take)
        return {**handlers, Notice: self._diagnostics.notice, Sandbox: self._diagnostics.sandbox}

    def tell_usage(self, view: ViewModel, *, is_stopped: bool) -> None:
        """Print the usage of the turn that has finished, or was stopped."""
        row_of = self.usage.of_stopped_turn if is_stopped else self.usage.of_turn
        if row := row_of(view.usage, view.context):
            self._diagnostics.prose(row, DIM, indent=STEP)

    def _take(self, event: Event) -> None:
        for entry in self.transcript.entries(event):
            self._margin = STEP * self.transcript.depth_of(event)
            self._print(entry)

    def _print(self, entry: Entry) -> None:
        match entry:
            case AnswerStarted() | AnswerGrew() | AnswerFinished():
                self._stream(entry)
            case CallStarted(call):
                self._call_started(call)
            case CallFinished():
                self._call_ended(entry)
            case PlanChanged(todos):
                self._show(*(Line(line.text, line.colour, INSET * 2) for line in todo_lines(todos)))
            case RetryPlanned(event):
                self._show(Line(f"! {retry_in_words(event)}", RED, STEP))
            case ReplySaid(text, has_calls):
                self._reply(text, has_calls=has_calls)
            case Remark(text, kind):
                is_error = kind is RemarkKind.ERROR
                self._show(Line(f"! {text}", RED, STEP) if is_error else Line(f"{INSET}{text}", DIM))
            case PromptSaid() | ReasoningSaid():
                return  # the user has typed the prompt
            case never:
                assert_never(never)

    def _show(self, *lines: Line) -> None:
        for line in lines:
            indent = None if line.indent is None else self._margin + line.indent
            self._diagnostics.show(Line(self._margin + line.text, line.colour, indent))

    def _stream(self, entry: AnswerStarted | AnswerGrew | AnswerFinished) -> None:
        match entry:
            case AnswerStarted():
                self._has_text = False
            case AnswerGrew(text):
                if not self._has_text:
                    self._diagnostics.gap()
                self._has_text = True
                self._diagnostics.words(text)
            case AnswerFinished():
                if self._has_text and self._diagnostics.is_open:
                    self._diagnostics.words("\n")
            case never:
                assert_never(never)

    def _call_started(self, call: LiveTool) -> None:
        """Print the title of a call, unless it is shown as an ask or as the answer, or the user has edited it."""
        if TurnReply in self._kinds:
            is_hidden = call.purpose is CallPurpose.COMPLETION and not self._margin
        else:
            is_hidden = call.purpose in SPEAKING or self.transcript.is_edited(call.call_id)
        if not is_hidden:
            self._show(title_line(call.title, self._diagnostics.bullet))

    def _call_ended(self, entry: CallFinished) -> None:
        """Print the result, without what the user knows: the diff of an approved call."""
        call = entry.call
        is_known = entry.is_change_known and isinstance(call.view, DiffView | DiffsView)
        # Concurrent calls end in any order, so the title is repeated if it is not the newest call.
        title = "" if entry.is_newest else call.title
        duration_ms = 0 if call.purpose is CallPurpose.SUBTASK else call.duration_ms
        view = None if is_known else call.view
        self._show(*result_lines(call.status, call.reason, view, duration_ms, of=title))

    def _reply(self, text: str, *, has_calls: bool) -> None:
        """Print text that comes with calls, or ends a subtask; the final answer goes to standard output."""
        if has_calls or self._margin:
            self._diagnostics.gap()
            self._show(*(Line(line, None, "") for line in text.splitlines()))
