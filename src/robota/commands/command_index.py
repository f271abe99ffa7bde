"""The index of the built-in slash commands, so that a list of all of them does not import all families."""

from pathlib import Path
from typing import Final

import msgspec

from robota.protocol.slash_commands import CommandSource, SlashCommandInfo

# Written by `make reference`.
INDEX: Final = Path(__file__).with_name("index.json")


class IndexedCommand(msgspec.Struct, frozen=True):
    """A command, and its module."""

    module: str
    info: SlashCommandInfo


def indexed_commands() -> list[IndexedCommand]:
    """All built-in commands."""
    return msgspec.json.decode(INDEX.read_bytes(), type=list[IndexedCommand])


def own_name(source: CommandSource, name: str) -> str:
    """The name of a command that is hidden by a built-in one: `project:report`."""
    return f"{source}:{name}"
