"""Run slash commands and show their results."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, assert_never

from robota.clients.render.rewind_lines import preview_lines, question_about
from robota.clients.render.view_lines import whole_view
from robota.clients.terminal.line import Line
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt
from robota.protocol.appearance import Appearance
from robota.protocol.commands import Refused, RunSlashCommand
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import (
    ClientClosed,
    CommandChoice,
    CommandList,
    CommandOutcome,
    CommandShown,
    CommandStarted,
    ContextShown,
    DiffShown,
    PreviewShown,
    RewindShown,
    RowsShown,
    SessionWanted,
    TextCopied,
)
from robota.protocol.unified_diff import files_in
from robota.protocol.views import DiffView

# The entered line is shown above these results, like a prompt above its answer. Others open a dialog or a screen.
PRINTED: Final = (CommandShown, ContextShown, PreviewShown, RowsShown, SessionWanted, TextCopied)


class CommandDisplay(Protocol):
    """The receivers of the outcome of a command."""

    @property
    def width(self) -> int: ...

    def show_entered(self, line: str) -> None: ...

    def show_lines(self, lines: Iterable[Line]) -> None: ...

    def show_refusal(self, refusal: Refused) -> None: ...

    def offer(self, choice: CommandChoice, opened_by: tuple[str, ...]) -> None: ...

    def open_question(self, prompt: ConfirmPrompt, then: Callable[[], None]) -> None: ...

    def run_line(self, line: str) -> None: ...

    def leave(self, end: int | SessionWanted) -> None: ...

    def show_diff(self, files: Sequence[DiffView]) -> None: ...

    def show_conversation(self, shown: ContextShown | PreviewShown | RowsShown) -> None: ...

    def copy(self, text: str, what: str) -> None: ...

    def appear(self, appearance: Appearance) -> None: ...


class CommandRunner:
    """Draws the data that commands return."""

    def __init__(self, session: SessionPort, display: CommandDisplay) -> None:
        self._session = session
        self._display = display

    async def run(self, line: str, opened_by: tuple[str, ...] = ()) -> bool:
        """Run a slash command and show its outcome. False if several lines only looked like one.

        `opened_by` are the lines of the lists that it was chosen from.
        """
        receipt = await self._session.submit(RunSlashCommand(line=line))
        if isinstance(receipt, Refused):
            is_prose = receipt.code == "unknown_command" and "\n" in line.strip()
            if not is_prose:
                self._display.show_entered(line)
                self._display.show_refusal(receipt)
            return not is_prose
        if isinstance(receipt.outcome, PRINTED) or receipt.outcome == CommandStarted():
            self._display.show_entered(line)
        self._show(receipt.outcome, (*opened_by, line))
        return True

    async def outcome(self, line: str) -> CommandOutcome | None:
        """The result of a command, for another component to draw."""
        receipt = await self._session.submit(RunSlashCommand(line=line))
        return None if isinstance(receipt, Refused) else receipt.outcome

    def _show(self, outcome: CommandOutcome | None, opened_by: tuple[str, ...]) -> None:
        display = self._display
        match outcome:
            case CommandShown():
                self._show_view(outcome)
            case DiffShown(diff=diff):
                display.show_diff(files_in(diff))
            case TextCopied(text=text, what=what):
                display.copy(text, what)
            case ContextShown() | PreviewShown() | RowsShown():
                display.show_conversation(outcome)
            case CommandChoice():
                display.offer(outcome, opened_by)
            case RewindShown():
                self._show_rewind(outcome)
            case ClientClosed():
                display.leave(0)
            case SessionWanted():
                display.leave(outcome)
            case CommandStarted() | CommandList() | None:
                return
            case never:
                assert_never(never)

    def _show_view(self, shown: CommandShown) -> None:
        if shown.appearance is not None:
            self._display.appear(shown.appearance)
        self._display.show_lines(whole_view(shown.view, width=self._display.width))

    def _show_rewind(self, shown: RewindShown) -> None:
        """Show what a rewind would change, and ask whether to do it; an event reports what was done."""
        if shown.is_done:
            return
        self._display.show_lines(preview_lines(shown.result))
        line = shown.line
        if line is not None:
            question = ConfirmPrompt(question=question_about(shown.result), no="no, change nothing")
            self._display.open_question(question, lambda: self._display.run_line(line))
