"""The printed part of the conversation: turns events into finished blocks of rows, each printed once, in order.

The modules that draw answers, calls and past conversations are imported with their first use.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final, assert_never

from msgspec.structs import replace

from robota.clients.render.progress import REDUCTIONS
from robota.clients.terminal.line import Handlers
from robota.clients.terminal.width import wrapped
from robota.clients.tui.effects import (
    NoteUsage,
    PrintContext,
    PrintEffect,
    PrintEvent,
    PrintLines,
    PrintPast,
    PrintPrompt,
    PrintSubject,
    PrintText,
    PrintUsage,
    ShowChangeOf,
)
from robota.clients.tui.file_links import FileAddress, no_links, with_file_links
from robota.clients.tui.theme import Role, Theme
from robota.clients.view.model import RUNNING, LiveTool, ViewModel
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.asks.kinds import APPROVAL_ASKS
from robota.protocol.calls import SPEAKING, CallPurpose, PastCall
from robota.protocol.events import (
    ContextReduced,
    Event,
    MessageCreated,
    MessageUpdated,
    Notice,
    PartialMessage,
    RetryScheduled,
    Sandbox,
    TaskModeSwitched,
    TaskSpawned,
    TextDelta,
    ToolEnd,
)
from robota.protocol.message import BACKGROUND_OUTPUT, SPOKEN, Message
from robota.protocol.slash_commands import ContextShown
from robota.protocol.views import DiffsView, DiffView
from robota.text.counted import counted

if TYPE_CHECKING:
    from robota.clients.render.past_rows import PastConversation
    from robota.clients.render.turn_usage import TurnUsage
    from robota.clients.tui.markdown.answer import StreamedAnswer

BLOCKS_KEPT: Final = 100
EARLIER: Final = "(Earlier messages: /history, or robota sessions show)"
HANGING: Final = "  "
STEP: Final = "  "
NARROWEST_ANSWER: Final = 10
STREAM_CUT: Final = "stream_cut"
# How many rows of a long prompt are shown, at its beginning and its end.
PROMPT_BEGIN: Final = 12
PROMPT_END: Final = 6
ERRORS_IN_WORDS: Final = {"MODEL_NO_ASSISTANT_MESSAGES": "The model returned an empty answer."}


class Scrollback:
    """Turns events into rows. `blocks` are the newest blocks in full, for Ctrl+O."""

    def __init__(
        self,
        theme: Theme,
        width: Callable[[], int],
        view: Callable[[], ViewModel],
        file_address: FileAddress = no_links,
    ) -> None:
        self._theme = theme
        self._file_address = file_address
        self._width = width
        self._view = view
        self._rows: list[str] = []
        self._answer: StreamedAnswer | None = None
        self._answer_rows: list[str] = []
        self._margin = ""  # of the answer; subtasks are indented
        self._streaming: int | None = None  # the `ts` of the streaming row; `_taken` characters are drawn
        self._taken = 0
        self._is_interrupted = False  # the newest answer
        self._begun: set[str] = set()
        self._depths: dict[str, int] = {}
        self._asked: set[str] = set()
        self._changed: set[str] = set()
        # One more than is shown, to know whether there were more.
        self.blocks: deque[list[str]] = deque(maxlen=BLOCKS_KEPT + 1)
        self._handlers: Handlers = {
            MessageCreated: self._created,
            MessageUpdated: self._updated,
            TextDelta: self._delta,
            PartialMessage: self._delta,
            ToolEnd: self._tool_end,
            TaskSpawned: self._spawned,
            TaskModeSwitched: self._mode_switched,
            ContextReduced: self._context_reduced,
            RetryScheduled: self._retried,
            Notice: lambda event: self.tell(event.text, Role.WARNING if event.level == "warning" else Role.DIM),
            Sandbox: self._sandbox,
        }

    def perform(self, effect: PrintEffect) -> None:
        """Print what the reducer asks for."""
        match effect:
            case PrintEvent(event):
                self.take(event)
            case PrintText(text, role):
                self.tell(text, role)
            case PrintLines(lines):
                self.block(map(self._theme.line, lines))
            case PrintPrompt(text):
                self.show_prompt(text)
            case PrintPast(past, task_id, is_shown):
                self._resume(past, task_id, is_shown=is_shown)
            case PrintSubject(asked=asked, is_whole=is_whole):
                self._show_subject(asked, is_whole=is_whole)
            case PrintContext(shown):
                self._show_context(shown)
            case PrintUsage():
                self._tell_usage(effect)
            case NoteUsage() | ShowChangeOf():
                self._note(effect)
            case never:
                assert_never(never)

    def _note(self, effect: NoteUsage | ShowChangeOf) -> None:
        if isinstance(effect, NoteUsage):
            self.usage.shown = effect.used
        else:
            self._changed.add(effect.call_id)

    def take(self, event: Event) -> None:
        """Turn an event into rows, for `take_rows`."""
        if handle := self._handlers.get(type(event)):
            handle(event)

    def take_rows(self) -> list[str]:
        """The rows since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def tail(self) -> list[str]:
        """The rows at the end of a streaming answer, which may still change."""
        tail = [] if self._answer is None else self._indent(self._answer.tail(self._answer_width))
        return tail if self._answer_rows or not tail else ["", *tail]

    @cached_property
    def usage(self) -> "TurnUsage":
        """The usage of each turn."""
        from robota.clients.render.turn_usage import TurnUsage

        return TurnUsage()

    def _resume(self, past: "PastConversation", task_id: str | None, *, is_shown: bool) -> None:
        """Show the conversation of a resumed session; the first prompt of its task is not new."""
        if task_id is not None:
            self._begun.add(task_id)
        self.show_past(past)
        if is_shown:
            self.take_rows()  # it is on the screen already; only Ctrl+O needs it

    def _show_subject(self, asked: ApprovalAsk, *, is_whole: bool) -> None:
        from robota.clients.tui.widgets.approval_subject import first_rows, subject_rows

        if is_whole:
            self.block(subject_rows(asked, self._theme))
        else:
            self.block(first_rows(asked, self._theme, self._width()), has_gap=True)

    def _show_context(self, shown: ContextShown) -> None:
        from robota.clients.tui.widgets.context_bars import context_rows

        self.block(context_rows(shown.update, self._theme, self._width(), is_whole=shown.is_whole))

    def _tell_usage(self, usage: PrintUsage) -> None:
        row_of = self.usage.of_stopped_turn if usage.is_stopped else self.usage.of_turn
        if row := row_of(usage.used, self._view().context):
            self.tell(row, Role.DIM)

    def show_past(self, past: "PastConversation") -> None:
        """Show the conversation of earlier processes, and how to see what came before it."""
        items = past.newest_items()
        if more := past.more_before(items):
            self.tell(more, Role.DIM)
        for item in items:
            if isinstance(item, PastCall):
                self._show_call(_as_it_ended(item))
            elif past.is_prompt(item):
                self.show_prompt(item.text or "")
            elif item.say in SPOKEN:
                self._begin_answer(item)
                self._finish(item)
            elif item.say == BACKGROUND_OUTPUT:
                self.tell(item.text or "", Role.DIM)
            else:
                self.tell(f"! {ERRORS_IN_WORDS.get(item.text or '', item.text)}", Role.ERROR)

    def full_rows(self) -> list[str]:
        """The newest blocks in full, and where to find older ones."""
        more = [self._painted(EARLIER, Role.DIM)] if len(self.blocks) > BLOCKS_KEPT else []
        return more + [row for block in list(self.blocks)[-BLOCKS_KEPT:] for row in block]

    def block(self, rows: Iterable[str], whole: Iterable[str] | None = None, *, has_gap: bool = False) -> None:
        """Print rows; `whole` are the same rows in full, for Ctrl+O."""
        shown = list(rows)
        if shown:
            self._rows += ["", *shown] if has_gap else shown
            self.blocks.append(["", *(shown if whole is None else whole)])

    def tell(self, text: str, role: Role) -> None:
        """Print a message."""
        self.block(self._painted_words(text, role))

    def show_prompt(self, text: str) -> None:
        """Show a text of the user; of a long paste only its beginning and end."""
        whole = self._painted_words(f"> {_indented(text)}", Role.PERSON)
        left_out = len(whole) - PROMPT_BEGIN - PROMPT_END
        if left_out <= 1:
            self.block(whole, has_gap=True)
            return
        more = self._painted(f"{HANGING}... +{counted(left_out, 'line')} (Ctrl+O shows all)", Role.DIM)
        self.block([*whole[:PROMPT_BEGIN], more, *whole[-PROMPT_END:]], whole, has_gap=True)

    def _painted(self, text: str, role: Role) -> str:
        return self._theme.paint(text, role)

    def _painted_words(self, text: str, role: Role) -> list[str]:
        return [self._painted(line, role) for line in self._lines(text, HANGING)]

    def _lines(self, text: str, hanging: str) -> list[str]:
        return wrapped(text, self._width(), hanging).split("\n")

    def _created(self, event: MessageCreated) -> None:
        row = event.message
        if event.task_id not in self._begun:
            self._begun.add(event.task_id)
            self._said(row.text or "", event.task_id)
        elif row.ask in APPROVAL_ASKS and row.call_id is not None:
            self._asked.add(row.call_id)
        elif row.say == "user_feedback":
            self._said(row.text or "", event.task_id)
        elif row.say in SPOKEN:
            self._begin_answer(row, self._margin_of(event.task_id))
            if not row.partial:
                self._finish(row)
        elif row.say == "error" and row.text and row.call_id is None:  # errors of calls are shown with their end
            self.tell(f"! {ERRORS_IN_WORDS.get(row.text, row.text)}", Role.ERROR)
        elif row.say == "condense_context":
            self.tell("(condensing the conversation)", Role.DIM)

    def _begin_answer(self, row: Message, margin: str = "") -> None:
        from robota.clients.tui.markdown.answer import StreamedAnswer

        self._margin = margin
        self._answer, self._answer_rows = StreamedAnswer(self._theme, self._file_address), []
        self._streaming, self._taken = row.ts, 0
        self._speak(row.text or "")

    def _said(self, text: str, task_id: str) -> None:
        """Text of the user; in a subtask, it comes from the model."""
        if margin := self._margin_of(task_id):
            words = f"{margin[len(STEP) :]}Subtask: {_indented(text, margin)}"
            self.block((self._painted(line, Role.DIM) for line in self._lines(words, margin)), has_gap=True)
        else:
            self.show_prompt(text)

    def _delta(self, event: TextDelta | PartialMessage) -> None:
        if event.ts == self._streaming:
            self._speak(event.delta)

    def _updated(self, event: MessageUpdated) -> None:
        row = event.message
        if row.ts == self._streaming and not row.partial:
            self._finish(row)
        elif row.say == "reasoning" and not row.partial and row.text:
            lines = row.text.strip().split("\n")
            more = f" (+{counted(len(lines) - 1, 'line')})" if len(lines) > 1 else ""
            margin = self._margin_of(event.task_id)
            folded = self._theme.row([(f"{margin}∴ {lines[0]}{more}", Role.DIM)], self._width())
            self.block([folded], [self._painted(f"{margin}∴ {line}", Role.DIM) for line in lines])
        elif row.say == "condense_context_error":
            self.tell(f"! {row.text}", Role.ERROR)

    def _speak(self, words: str) -> None:
        if self._answer is None or not words:
            return
        self._taken += len(words)
        self._answered(self._answer.feed(words, self._answer_width))

    def _answered(self, rows: list[str]) -> None:
        if rows:
            rows = self._indent(rows)
            self._rows += rows if self._answer_rows else ["", *rows]
            self._answer_rows += rows

    @property
    def _answer_width(self) -> int:
        return max(NARROWEST_ANSWER, self._width() - len(self._margin))

    def _indent(self, rows: list[str]) -> list[str]:
        return [f"{self._margin}{row}" for row in rows] if self._margin else rows

    def _margin_of(self, task_id: str) -> str:
        """Indent the output of a subtask below its parent."""
        return STEP * self._depths.get(task_id, 0)

    def _finish(self, row: Message) -> None:
        if self._answer is None:
            return
        self._speak((row.text or "")[self._taken :])
        self._answered(self._answer.finish(self._answer_width))
        self._is_interrupted = bool(row.interrupted)
        if row.interrupted:
            self._answered([self._painted("(interrupted)", Role.WARNING)])
        if self._answer_rows:
            self.blocks.append(["", *self._answer_rows])
        self._answer, self._answer_rows, self._streaming = None, [], None

    def _tool_end(self, event: ToolEnd) -> None:
        call = self._view().tools.get(event.call_id)
        if call is None or call.purpose in SPEAKING:
            return
        self._show_call(call, self._margin_of(event.task_id))

    def _show_call(self, call: LiveTool, margin: str = "") -> None:
        from robota.clients.tui.widgets.call_rows import call_rows

        shown = self._without_what_is_known(call)
        rows = [margin + row for row in call_rows(shown, self._theme, self._width() - len(margin))]
        rows = [with_file_links(row, self._file_address) for row in rows]
        self.block(rows, [margin + row for row in call_rows(call, self._theme, self._width(), is_whole=True)])

    def _without_what_is_known(self, call: LiveTool) -> LiveTool:
        """The diff of an approved call was already shown above."""
        is_known = call.call_id in self._asked and call.call_id not in self._changed
        if is_known and isinstance(call.view, DiffView | DiffsView):
            return replace(call, view=None)
        return call

    def _spawned(self, event: TaskSpawned) -> None:
        self._depths[event.child_task_id] = self._depths.get(event.task_id, 0) + 1

    def _retried(self, event: RetryScheduled) -> None:
        """A partial answer that the user did not stop is followed by another one: say why."""
        if event.error == STREAM_CUT and self._is_interrupted:
            self._is_interrupted = False
            self.tell("The connection broke, so the answer is requested again.", Role.DIM)

    def _mode_switched(self, event: TaskModeSwitched) -> None:
        """A call that switches the mode says so itself when it ends."""
        tools = self._view().tools.values()
        if not any(tool.status == RUNNING and tool.purpose is CallPurpose.WORK for tool in tools):
            self.tell(f"Task mode: {event.mode}", Role.DIM)

    def _context_reduced(self, event: ContextReduced) -> None:
        done = REDUCTIONS.get(event.how, "conversation shortened")
        before, after = event.prev_context_tokens, event.new_context_tokens
        context = self._view().context
        window = context.max_tokens if context is not None else 0
        share = f" ({before / window:.0%} to {after / window:.0%} of the context window)" if window else ""
        self.tell(f"{done}: {before:,} to {after:,} tokens{share}", Role.DIM)

    def _sandbox(self, event: Sandbox) -> None:
        if event.kind == "none":
            self.tell(
                f"! No sandbox is available, so commands run only if a rule allows them: {event.reason}.", Role.WARNING
            )


def _as_it_ended(call: PastCall) -> LiveTool:
    return LiveTool(
        call_id=call.call_id,
        title=call.title,
        purpose=call.purpose,
        status=call.status,
        duration_ms=call.duration_ms,
        reason=call.reason,
        view=call.view,
    )


def _indented(text: str, margin: str = HANGING) -> str:
    return text.rstrip("\n").replace("\n", f"\n{margin}")
