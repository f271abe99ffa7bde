"""The results of slash commands: print them, open a list or a screen, or end the conversation."""

from typing import Final, assert_never

from msgspec.structs import replace

from robota.clients.render.command_text import conversation_lines
from robota.clients.render.rewind_lines import preview_lines, question_about
from robota.clients.render.view_lines import whole_view
from robota.clients.tui.effects import (
    CopyText,
    OpenAgents,
    OpenDiff,
    OpenInbox,
    PrintContext,
    PrintLines,
    PrintPrompt,
    Quit,
    SlashRequest,
    Submit,
)
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt
from robota.clients.tui.flows.panel import Panel
from robota.clients.tui.reducer.dialogs import ask, open_list, open_panel
from robota.clients.tui.reducer.sending import send_prose
from robota.clients.tui.reducer.step import ScreenStep
from robota.clients.tui.state import CommandOptions
from robota.protocol.commands import Receipt, Refused, RunSlashCommand
from robota.protocol.slash_commands import (
    AgentsShown,
    ClientClosed,
    CommandChoice,
    CommandList,
    CommandOutcome,
    CommandShown,
    CommandStarted,
    ContextShown,
    DiffShown,
    InboxWanted,
    PreviewShown,
    RewindShown,
    RowsShown,
    SessionDetached,
    SessionWanted,
    TextCopied,
    typed_command,
)
from robota.protocol.unified_diff import files_in

# The entered line is shown above these results, like a prompt above its answer. Others open a dialog or a screen.
PRINTED: Final = (CommandShown, ContextShown, PreviewShown, RowsShown, SessionWanted, TextCopied)


# Their results are read once and closed.
LOOKED_UP: Final = frozenset({"help", "keys", "context", "cost", "mcp", "status", "todos", "hooks"})
MIN_ROWS_WITH_PANEL: Final = 14


def command_ended(step: ScreenStep, request: SlashRequest, receipt: Receipt) -> ScreenStep:
    """Show the outcome of a slash command. Several lines that only looked like one are sent as text."""
    line = request.line
    if isinstance(receipt, Refused):
        is_prose = receipt.code == "unknown_command" and "\n" in line.strip() and request.written is not None
        return send_prose(step, request) if is_prose else step.plus(PrintPrompt(line)).refuse(receipt)
    panel = _panel(step, line, receipt.outcome)
    if panel is not None:
        return open_panel(step, panel)
    if isinstance(receipt.outcome, PRINTED) or receipt.outcome == CommandStarted():
        step = step.plus(PrintPrompt(line))
    return _show(step, receipt.outcome, (*request.opened_by, line))


def _panel(step: ScreenStep, line: str, outcome: CommandOutcome | None) -> Panel | None:
    """The panel for results that are read once; None if they are printed: in a low window, or below a question."""
    typed = typed_command(line)
    is_lookup = typed is not None and typed.name in LOOKED_UP and not typed.arguments
    if not is_lookup or step.state.approval is not None or step.state.window.rows < MIN_ROWS_WITH_PANEL:
        return None
    match outcome:
        case CommandShown(view=view, appearance=None):
            return Panel(title=line.strip(), content=view)
        case ContextShown():
            return Panel(title=line.strip(), content=outcome)
        case _:
            return None


def _show(step: ScreenStep, outcome: CommandOutcome | None, opened_by: tuple[str, ...]) -> ScreenStep:
    match outcome:
        case CommandShown() | ContextShown() | PreviewShown() | RowsShown():
            return _print(step, outcome)
        case AgentsShown(task_id=task_id):
            return step.plus(OpenAgents(task_id))
        case TextCopied(text=text, what=what):
            copied = f"Copied {what} ({len(text):,} characters), if your terminal allows programs to copy."
            return step.plus(CopyText(text)).tell(copied)
        case DiffShown() | InboxWanted():
            return step.plus(
                OpenInbox() if isinstance(outcome, InboxWanted) else OpenDiff(tuple(files_in(outcome.diff)))
            )
        case CommandChoice():
            return open_list(step, outcome, CommandOptions(opened_by))
        case RewindShown():
            return _show_rewind(step, outcome)
        case ClientClosed() | SessionWanted() | SessionDetached():
            return step.plus(Quit(0 if isinstance(outcome, ClientClosed) else outcome))
        case CommandStarted() | CommandList() | None:
            return step
        case never:
            assert_never(never)


def _print(step: ScreenStep, shown: CommandShown | ContextShown | PreviewShown | RowsShown) -> ScreenStep:
    columns = step.state.window.columns
    match shown:
        case CommandShown(view=view, appearance=appearance):
            if appearance is not None:
                colours = replace(step.state.colours, chosen=appearance, previewed=None)
                step = step.change(colours=colours).paint()
            return step.plus(PrintLines(tuple(whole_view(view, width=columns))))
        case ContextShown():
            return step.plus(PrintContext(shown))
        case PreviewShown() | RowsShown():
            return step.plus(PrintLines(tuple(conversation_lines(shown, columns))))
        case never:
            assert_never(never)


def _show_rewind(step: ScreenStep, shown: RewindShown) -> ScreenStep:
    """Show what a rewind would change, and ask whether to do it; an event reports what was done."""
    if shown.is_done:
        return step
    step = step.plus(PrintLines(tuple(preview_lines(shown.result))))
    if shown.line is None:
        return step
    question = ConfirmPrompt(question=question_about(shown.result), no="no, change nothing")
    return ask(step, question, Submit(RunSlashCommand(line=shown.line), SlashRequest(line=shown.line)))
