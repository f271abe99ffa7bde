"""Format the result of a slash command as text without colours."""

import shlex
from collections.abc import Iterable
from typing import Final, assert_never

from robota.clients.render.context_ledger import condense_preview_lines, ledger_lines
from robota.clients.render.past_rows import PastConversation, past_lines
from robota.clients.render.rewind_lines import preview_lines, result_lines
from robota.clients.render.view_lines import view_text, visible_lines
from robota.clients.terminal.line import DIM, GREEN, INSET, RED, Line
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
)

DIFF_COLOURS: Final = {"+": GREEN, "-": RED, "@": DIM}


def command_text(outcome: CommandOutcome) -> str:
    """Everything that is useful as plain text; a choice becomes the command lines for its options."""
    match outcome:
        case CommandShown(view=view) | AgentsShown(view=view):
            return view_text(view)
        case CommandChoice(title=title, options=options):
            return "\n".join((title, *(f"{option.line}  {option.detail}".rstrip() for option in options)))
        case ContextShown() | PreviewShown() | RowsShown():
            return "\n".join(line.text for line in conversation_lines(outcome))
        case DiffShown(diff=text) | TextCopied(text=text):
            return text.rstrip("\n")
        case RewindShown():
            return "\n".join(_rewind_lines(outcome))
        case CommandList(commands=commands):
            return "\n".join(f"/{command.name}  {command.description}" for command in commands)
        case SessionWanted() | SessionDetached() | InboxWanted():
            return _where_to_go_on(outcome)
        case CommandStarted() | ClientClosed():
            return ""
        case never:
            assert_never(never)


Readable = ContextShown | PreviewShown | RowsShown | DiffShown | TextCopied


def conversation_lines(outcome: Readable, width: int | None = None) -> Iterable[Line]:
    """Format what a command shows of the conversation as lines."""
    match outcome:
        case ContextShown():
            return ledger_lines(outcome.update, width, whole=outcome.is_whole)
        case PreviewShown():
            return condense_preview_lines(outcome.preview, width)
        case RowsShown(rows=page):
            past = PastConversation(rows=page.messages, calls=page.calls, older=page.older_rows)
            return past_lines(past, is_whole=True)
        case DiffShown(diff=diff):
            return diff_lines(diff)
        case TextCopied(text=text):
            return (Line(line) for line in visible_lines(text))
        case never:
            assert_never(never)


def diff_lines(diff: str) -> Iterable[Line]:
    """A unified diff in colours, with invisible characters shown."""
    return (Line(f"{INSET}{line}", DIFF_COLOURS.get(line[:1])) for line in visible_lines(diff.rstrip("\n")))


def _where_to_go_on(wanted: SessionWanted | SessionDetached | InboxWanted) -> str:
    if isinstance(wanted, SessionDetached):
        return "This is for a conversation in a terminal. To start a session without one: robota --detach TASK"
    if isinstance(wanted, InboxWanted):
        return "To see the open questions of all sessions: robota inbox"
    if wanted.decides_trust:
        return "To decide: robota trust"
    if wanted.sets_up is not None:
        kind = f" --type {shlex.quote(wanted.sets_up)}" if wanted.sets_up else ""
        return f"To set up a provider: robota --configure{kind}"
    return f"To continue there: {_command_line(wanted)}"


def _command_line(wanted: SessionWanted) -> str:
    options = (
        ("--resume", wanted.session_id),
        ("--provider", wanted.provider),
        ("--model", wanted.model),
        ("--effort", wanted.effort),
        ("--language", wanted.language),
    )
    return " ".join(("robota", *(f"{option} {shlex.quote(value)}" for option, value in options if value)))


def _rewind_lines(shown: RewindShown) -> Iterable[str]:
    if shown.is_done:
        return result_lines(shown.result)
    return (*(each.text for each in preview_lines(shown.result)), *([shown.line] if shown.line else []))
