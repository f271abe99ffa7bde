"""Commands about the conversation: help, history, clear, new, retry and exit."""

from collections.abc import Iterable
from typing import Final

from robota.commands.command import Run, SlashCommand, shown_text, wrong_arguments
from robota.commands.effect import changes, prompts, reads
from robota.commands.host import CommandHost
from robota.engine.session.session import Session
from robota.protocol.commands import ClearTask, OlderRowsRequest, Refused, RetryNow
from robota.protocol.slash_commands import (
    ClientClosed,
    CommandOutcome,
    CommandShown,
    CommandStarted,
    InboxWanted,
    RowsShown,
    SessionDetached,
    SessionWanted,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.protocol.views import TableView
from robota.text.visible import single_line

HISTORY_ROWS: Final = 100
MAX_HINT: Final = 24
MAX_COMMAND: Final = 60
MAX_DIGITS: Final = 18
NOTHING_EARLIER: Final = "There are no earlier messages."
HELP: Final = SlashCommandInfo(
    name="help", aliases=("?",), argument_hint="[COMMAND]", description="list all commands, or explain one"
)
CLEAR: Final = SlashCommandInfo(
    name="clear",
    description="clear the conversation; the log keeps it",
    while_working=False,
)
NEW: Final = SlashCommandInfo(name="new", description="start a new session", while_working=False)
RETRY: Final = SlashCommandInfo(name="retry", description="retry a failed request now instead of waiting")
EXIT: Final = SlashCommandInfo(name="exit", aliases=("quit",), description="exit (also Ctrl+D)")
DETACH: Final = SlashCommandInfo(
    name="detach",
    argument_hint="[anyway]",
    description="leave the terminal; the session goes on without it",
)
INBOX: Final = SlashCommandInfo(name="inbox", description="answer the open questions of all sessions")
ANYWAY: Final = "anyway"
HISTORY: Final = SlashCommandInfo(
    name="history",
    argument_hint="[COUNT [ROW]]",
    description="show the conversation so far: the newest messages, or those before a message",
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/help`, `/history`, `/clear`, `/new`, `/retry`, `/detach`, `/inbox` and `/exit`."""
    session, all_commands = host.session, host.all_commands

    async def help(arguments: str) -> CommandOutcome | Refused:
        available = all_commands()
        name = arguments.removeprefix("/")
        if not name:
            return _table((_short_usage(each.info), each.info.description) for each in available)
        command = next((each for each in available if name in (each.info.name, *each.info.aliases)), None)
        if command is None:
            return Refused(code="unknown_command", message=f"There is no command /{name}. /help lists them.")
        info = command.full_info
        return _table(((_usage(info), info.description), *map(_subcommand_row, info.subcommands)))

    def names(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
        infos = (command.info for command in all_commands()) if not before else ()
        return (SubcommandInfo(name=info.name, description=info.description) for info in infos)

    async def clear(arguments: str) -> CommandOutcome | Refused:
        receipt = await session.submit(ClearTask())
        return receipt if isinstance(receipt, Refused) else shown_text("Your next prompt starts a new conversation.")

    async def begin(arguments: str) -> CommandOutcome:
        return SessionWanted()

    async def retry(arguments: str) -> CommandOutcome | Refused:
        receipt = await session.submit(RetryNow())
        return receipt if isinstance(receipt, Refused) else CommandStarted()

    async def inbox(arguments: str) -> CommandOutcome:
        return InboxWanted()

    async def leave(arguments: str) -> CommandOutcome:
        return ClientClosed()

    yield SlashCommand(info=HELP, run=help, effect=reads, complete=names)
    yield SlashCommand(info=HISTORY, run=_history(session), effect=reads)
    yield SlashCommand(info=CLEAR, run=clear, effect=changes("robota -p without -c starts a new conversation"))
    yield SlashCommand(info=NEW, run=begin, effect=reads)
    yield SlashCommand(info=RETRY, run=retry, effect=prompts)
    yield SlashCommand(info=DETACH, run=_detach(host), effect=reads)
    yield SlashCommand(info=INBOX, run=inbox, effect=reads)
    yield SlashCommand(info=EXIT, run=leave, effect=reads)


def _detach(host: CommandHost) -> Run:
    async def detach(arguments: str) -> CommandOutcome | Refused:
        if arguments not in ("", ANYWAY):
            return wrong_arguments(DETACH, f"/detach takes only the word {ANYWAY}.")
        left = [each for each in host.opened.processes.background if each.ending is None]
        if left and not arguments:
            names = ", ".join(f"{each.id} ({single_line(each.command, MAX_COMMAND)})" for each in left)
            why = f"Background processes end when the session moves to another process: {names}. Nothing was changed. "
            return Refused(code="would_end_processes", message=f"{why}To detach anyway: /detach {ANYWAY}")
        return SessionDetached()

    return detach


def _history(session: Session) -> Run:
    async def history(arguments: str) -> CommandOutcome | Refused:
        words = arguments.split()
        if len(words) > 2 or not all(_is_number(word) for word in words):
            return wrong_arguments(HISTORY, "Give the number of messages and the message to start before.")
        limit = int(words[0]) if words else HISTORY_ROWS
        before = int(words[1]) if len(words) > 1 else None
        rows = await session.older_rows(OlderRowsRequest(limit=limit, before_ts=before))
        if isinstance(rows, Refused):
            return rows
        return RowsShown(rows=rows) if rows.messages else shown_text(NOTHING_EARLIER)

    return history


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= MAX_DIGITS and int(word) > 0


def _short_usage(info: SlashCommandInfo) -> str:
    """The usage in the list of all commands, with a long list of actions abbreviated."""
    is_long = bool(info.subcommands) and len(info.argument_hint) > MAX_HINT
    return f"/{info.name} [ACTION …]" if is_long else _usage(info)


def _usage(info: SlashCommandInfo) -> str:
    return f"/{info.name} {info.argument_hint}".strip()


def _subcommand_row(subcommand: SubcommandInfo) -> tuple[str, str]:
    return f"  {subcommand.name} {subcommand.argument_hint}".rstrip(), subcommand.description


def _table(rows: Iterable[tuple[str, str]]) -> CommandShown:
    return CommandShown(view=TableView(columns=("command", "what it does"), rows=tuple(rows)))
