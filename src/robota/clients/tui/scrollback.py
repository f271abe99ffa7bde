"""The printed part of the conversation: turns events into finished blocks of rows, each printed once, in order.

The modules that draw answers, calls and past conversations are imported with their first use.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final, assert_never

from msgspec.structs import replace

from robota.clients.terminal.width import broken, wrapped
from robota.clients.tui.effects import (
    NotePastes,
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
from robota.clients.tui.painted_rows import FILL, RESET
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.page_row import PageRow, painted
from robota.clients.tui.workspace_paths import relative_call
from robota.clients.view.model import LiveTool
from robota.clients.view.transcript import (
    ERROR_TEXTS,
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
)
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.calls import SPEAKING, PastCall
from robota.protocol.events import (
    Event,
)
from robota.protocol.message import BACKGROUND_OUTPUT, SPOKEN
from robota.protocol.slash_commands import ContextShown
from robota.protocol.views import DiffsView, DiffView
from robota.text.counted import counted

if TYPE_CHECKING:
    from robota.clients.render.past_rows import PastConversation
    from robota.clients.render.turn_usage import TurnUsage
    from robota.clients.tui.markdown.answer import StreamedAnswer

MAX_BLOCKS: Final = 100
EARLIER: Final = "(Earlier messages: /history, or robota sessions show)"
HANGING: Final = "  "
STEP: Final = "  "
MIN_ANSWER_WIDTH: Final = 10
# How many rows of a long prompt are shown, at its beginning and its end.
PROMPT_BEGIN: Final = 12
PROMPT_END: Final = 6
REASONING_ROWS: Final = 3
SUBTASK_ROWS: Final = 6
MAX_PASTES: Final = 20
UNDO_KEY: Final = "Ctrl+U undoes it."
REMARK_ROLES: Final = {
    RemarkKind.DETAIL: Role.DIM,
    RemarkKind.NOTICE: Role.DIM,
    RemarkKind.WARNING: Role.WARNING,
    RemarkKind.ERROR: Role.ERROR,
}


class Scrollback:
    """Turns events into rows. `blocks` are the newest blocks in full, for Ctrl+O."""

    def __init__(
        self,
        theme: Theme,
        width: Callable[[], int],
        file_address: FileAddress = no_links,
        workspace: Callable[[], str] = str,
    ) -> None:
        self._theme = theme
        self._file_address = file_address
        self._width = width
        self._workspace = workspace
        self._transcript = Transcript()
        self._rows: list[str] = []
        self._answer: StreamedAnswer | None = None
        self._answer_rows: list[str] = []
        self._margin = ""  # of the answer; subtasks are indented
        self._pastes: deque[tuple[str, str]] = deque(maxlen=MAX_PASTES)
        # One more than is shown, to know whether there were more.
        self.blocks: deque[list[PageRow]] = deque(maxlen=MAX_BLOCKS + 1)

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
            case NoteUsage() | ShowChangeOf() | NotePastes():
                self._note(effect)
            case never:
                assert_never(never)

    def _note(self, effect: NoteUsage | ShowChangeOf | NotePastes) -> None:
        match effect:
            case NoteUsage(used):
                self.usage.shown = used
            case ShowChangeOf(call_id):
                self._transcript.show_change_of(call_id)
            case NotePastes(pastes):
                self._pastes.extend(pastes)
            case never:
                assert_never(never)

    def take(self, event: Event) -> None:
        """Turn an event into rows, for `take_rows`."""
        for entry in self._transcript.entries(event):
            self._show(entry, STEP * self._transcript.depth_of(event))

    def _show(self, entry: Entry, margin: str) -> None:
        match entry:
            case AnswerStarted() | AnswerGrew() | AnswerFinished():
                self._stream(entry, margin)
            case PromptSaid(text):
                self._print_user_text(text, margin)
            case ReasoningSaid(text):
                self._reasoned(text, margin)
            case CallFinished(call=call):
                if call.purpose not in SPEAKING:
                    self._show_call(call, margin, is_change_known=entry.is_change_known)
            case RetryPlanned(is_answer_cut=is_answer_cut):
                if is_answer_cut:  # say why another one follows
                    self.tell("The connection broke, so the answer is requested again.", Role.DIM)
            case Remark(text, kind, can_be_undone=can_be_undone):
                text = f"{text} {UNDO_KEY}" if can_be_undone else text
                self.tell(f"! {text}" if kind is RemarkKind.ERROR else text, REMARK_ROLES[kind])
            case CallStarted() | PlanChanged() | ReplySaid():
                return  # the live region shows them, and the answer is streamed
            case never:
                assert_never(never)

    def _stream(self, entry: AnswerStarted | AnswerGrew | AnswerFinished, margin: str = "") -> None:
        match entry:
            case AnswerStarted():
                self._begin_answer(margin)
            case AnswerGrew(text):
                if self._answer is not None:
                    self._answered(self._answer.feed(text, self._answer_width))
            case AnswerFinished(is_interrupted):
                self._finish(is_interrupted=is_interrupted)
            case never:
                assert_never(never)

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
        self._transcript.resume(task_id)
        self.show_past(past)
        if is_shown:
            self.take_rows()  # it is on the screen already; only Ctrl+O needs it

    def _show_subject(self, asked: ApprovalAsk, *, is_whole: bool) -> None:
        from robota.clients.tui.widgets.approval_subject import first_rows, is_diff, subject_rows

        if is_whole:
            parts = list(subject_rows(asked, self._theme))
            rows = (row for part in parts for row in painted(part, self._theme, self._width()))
            self.block(rows, parts)
        else:
            whole = subject_rows(asked, self._theme) if is_diff(asked) else None
            self.block(first_rows(asked, self._theme, self._width()), whole, has_gap=True)

    def _show_context(self, shown: ContextShown) -> None:
        from robota.clients.tui.widgets.context_bars import context_rows

        self.block(context_rows(shown.update, self._theme, self._width(), is_whole=shown.is_whole))

    def _tell_usage(self, usage: PrintUsage) -> None:
        row_of = self.usage.of_stopped_turn if usage.is_stopped else self.usage.of_turn
        if row := row_of(usage.used, usage.context):
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
                for entry in (AnswerStarted(), AnswerGrew(item.text or ""), AnswerFinished(bool(item.interrupted))):
                    self._stream(entry)
            elif item.say == BACKGROUND_OUTPUT:
                self.tell(item.text or "", Role.DIM)
            else:
                self.tell(f"! {ERROR_TEXTS.get(item.text or '', item.text)}", Role.ERROR)

    def full_rows(self) -> list[PageRow]:
        """The newest blocks in full, and where to find older ones."""
        more: list[PageRow] = [self._painted(EARLIER, Role.DIM)] if len(self.blocks) > MAX_BLOCKS else []
        return more + [row for block in list(self.blocks)[-MAX_BLOCKS:] for row in block]

    def block(self, rows: Iterable[str], whole: Iterable[PageRow] | None = None, *, has_gap: bool = False) -> None:
        """Print rows; `whole` are the same rows in full, for Ctrl+O."""
        shown = list(rows)
        if shown:
            self._rows += ["", *shown] if has_gap else shown
            self.blocks.append(["", *(shown if whole is None else whole)])

    def tell(self, text: str, role: Role) -> None:
        """Print a message."""
        self.block(self._painted_words(text, role))

    def show_prompt(self, text: str) -> None:
        """Show a text of the user: pastes as their labels, of another long text only its beginning and end."""
        whole = self._prompt_rows(text)
        labelled = text
        for label, paste in self._pastes:
            labelled = labelled.replace(paste, label, 1)
        if labelled != text:
            self.block(self._prompt_rows(labelled), whole, has_gap=True)
            return
        left_out = len(whole) - PROMPT_BEGIN - PROMPT_END
        if left_out <= 1:
            self.block(whole, has_gap=True)
            return
        more = self._painted(f"{HANGING}... +{counted(left_out, 'line')} (Ctrl+O shows all)", Role.DIM)
        self.block([*whole[:PROMPT_BEGIN], more, *whole[-PROMPT_END:]], whole, has_gap=True)

    def _prompt_rows(self, text: str) -> list[str]:
        theme = self._theme
        band = theme.codes.get(Role.USER_ROW)
        end = f"\x1b[{band}m{FILL}{RESET}" if band else ""
        lines = self._lines(f"> {_indented(text)}", HANGING)
        return [theme.paint(line, Role.USER, Role.USER_ROW) + end for line in lines]

    def _painted(self, text: str, role: Role) -> str:
        return self._theme.paint(text, role)

    def _painted_words(self, text: str, role: Role) -> list[str]:
        return [self._painted(line, role) for line in self._lines(text, HANGING)]

    def _lines(self, text: str, hanging: str) -> list[str]:
        width = self._width()
        lines = wrapped(text, width + 1, hanging).split("\n")
        return [piece for line in lines for piece in broken(line, width, hanging)]

    def _begin_answer(self, margin: str) -> None:
        from robota.clients.tui.markdown.answer import StreamedAnswer

        self._margin = margin
        self._answer, self._answer_rows = StreamedAnswer(self._theme, self._file_address), []

    def _print_user_text(self, text: str, margin: str) -> None:
        """Text of the user; in a subtask, it comes from the model."""
        if not margin:
            self.show_prompt(text)
            return
        words = f"{margin[len(STEP) :]}Subtask: {_indented(text, margin)}"
        self._fold(self._lines(words, margin), margin, SUBTASK_ROWS, has_gap=True)

    def _reasoned(self, text: str, margin: str) -> None:
        """The beginning of the reasoning; the rest is in the transcript."""
        hanging = f"{margin}{HANGING}"
        self._fold(self._lines(f"{margin}∴ {_indented(text.strip(), hanging)}", hanging), hanging, REASONING_ROWS)

    def _fold(self, lines: list[str], margin: str, shown: int, *, has_gap: bool = False) -> None:
        """Print the first lines of a text in the background, and how many follow."""
        whole = [self._painted(line, Role.DIM) for line in lines]
        if len(whole) <= shown + 1:
            self.block(whole, has_gap=has_gap)
            return
        more = self._painted(f"{margin}... +{counted(len(whole) - shown, 'line')} (Ctrl+O shows all)", Role.DIM)
        self.block([*whole[:shown], more], whole, has_gap=has_gap)

    def _answered(self, rows: list[str]) -> None:
        if rows:
            rows = self._indent(rows)
            self._rows += rows if self._answer_rows else ["", *rows]
            self._answer_rows += rows

    @property
    def _answer_width(self) -> int:
        return max(MIN_ANSWER_WIDTH, self._width() - len(self._margin))

    def _indent(self, rows: list[str]) -> list[str]:
        return [f"{self._margin}{row}" for row in rows] if self._margin else rows

    def _finish(self, *, is_interrupted: bool) -> None:
        if self._answer is None:
            return
        self._answered(self._answer.finish(self._answer_width))
        if is_interrupted:
            self._answered([self._painted("(interrupted)", Role.WARNING)])
        if self._answer_rows:
            self.blocks.append(["", *self._answer_rows])
        self._answer, self._answer_rows = None, []

    def _show_call(self, call: LiveTool, margin: str = "", *, is_change_known: bool = False) -> None:
        """A finished call; the diff of an approved call was already shown above."""
        from robota.clients.tui.widgets.call_rows import call_rows, whole_call_rows

        call = relative_call(call, self._workspace())
        is_known = is_change_known and isinstance(call.view, DiffView | DiffsView)
        shown = replace(call, view=None) if is_known else call
        rows = [margin + row for row in call_rows(shown, self._theme, self._width() - len(margin))]
        rows = [with_file_links(row, self._file_address) for row in rows]
        whole = whole_call_rows(call, self._theme, self._width())
        self.block(rows, [margin + row if isinstance(row, str) else row for row in whole])


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
