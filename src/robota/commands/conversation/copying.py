"""`/copy`: copies the last answer, a code block of it, or the last command to the clipboard."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from robota.commands.command import SlashCommand, wrong_arguments
from robota.commands.effect import reads
from robota.commands.host import CommandHost
from robota.protocol.commands import Refused
from robota.protocol.message import SPOKEN, Message
from robota.protocol.slash_commands import CommandOutcome, SlashCommandInfo, SubcommandInfo, TextCopied

FENCED: Final = r"(?ms)^ {0,3}(`{3,}|~{3,})[^\n]*\n(.*?)^ {0,3}\1[`~]*[ \t]*$"
COPY: Final = SlashCommandInfo(
    name="copy",
    argument_hint="[code [N] | command]",
    description="copy the last answer to the clipboard",
    subcommands=(
        SubcommandInfo(name="code", argument_hint="[N]", description="copy its last code block, or block N"),
        SubcommandInfo(name="command", description="copy the last command you were asked about"),
    ),
)
NOTHING: Final = "Nothing was copied."


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/copy`. It works over SSH too, because the terminal of the user gets the text."""

    async def copy(arguments: str) -> CommandOutcome | Refused:
        rows = host.session.state().cline_messages
        match arguments.split():
            case []:
                return _copied(_answer(rows), "the last answer", "There is no answer yet.")
            case ["code"]:
                return _copied(_block(rows, 0), "the last code block", "The last answer has no code block.")
            case ["code", number] if number.isascii() and number.isdecimal() and int(number):
                return _copied(_block(rows, int(number)), f"block {number}", f"There is no code block {number}.")
            case ["command"]:
                return _copied(_command(rows), "the last command", "No command has needed approval yet.")
            case _:
                return wrong_arguments(COPY, "Invalid arguments for /copy.")

    yield SlashCommand(info=COPY, run=copy, effect=reads)


def _copied(text: str, what: str, problem: str) -> CommandOutcome | Refused:
    if not text:
        return Refused(code="nothing_to_copy", message=f"{problem} {NOTHING}")
    return TextCopied(text=text, what=what)


def _answer(rows: Sequence[Message]) -> str:
    return next((row.text for row in reversed(rows) if row.say in SPOKEN and row.text), "")


def _block(rows: Sequence[Message], number: int) -> str:
    """Code block `number`, counted from 1, of the newest answer that has any; 0 is the last one. Empty if missing."""
    for row in reversed(rows):
        blocks = [fence[2] for fence in re.finditer(FENCED, row.text or "")] if row.say in SPOKEN else []
        if blocks:
            return blocks[number - 1] if number <= len(blocks) else ""
    return ""


def _command(rows: Sequence[Message]) -> str:
    return next((row.text for row in reversed(rows) if row.ask == "command" and row.text), "")
