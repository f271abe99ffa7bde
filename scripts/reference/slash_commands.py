"""The page on the built-in slash commands, made from the registry: `make reference` writes it."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from robota.app.session import open_session
from robota.commands.builtin_commands import built_index
from robota.commands.command_index import IndexedCommand
from robota.commands.host import CommandHost
from robota.commands.session_commands import with_commands
from robota.config.launch_options import LaunchOptions
from robota.protocol.commands import Accepted, ListSlashCommands
from robota.protocol.slash_commands import CommandList, SlashCommandInfo

HEAD = """\
# Slash commands

Generated from the command registry by `make reference`. `/help` also lists the [skills](skills.md) and prompt commands
of the project and your own. In print mode, `robota -p "/COMMAND"` runs without a model where none is needed.
"""


def slash_commands() -> str:
    """The page, as a session in an empty directory has the commands."""
    with tempfile.TemporaryDirectory() as home:
        infos = command_infos(Path(home))
    sections = ("\n".join(_section(info)) for info in sorted(infos, key=lambda info: info.name))
    return "\n".join((HEAD, *sections))


def command_infos(home: Path) -> tuple[SlashCommandInfo, ...]:
    """The commands of a session in an empty directory."""
    return asyncio.run(_infos(home))


def command_index() -> str:
    """The index of the built-in commands, which the program reads instead of importing all of them."""
    with tempfile.TemporaryDirectory() as home:
        index = asyncio.run(_index(Path(home)))
    return msgspec.json.format(msgspec.json.encode(index), indent=1).decode() + "\n"


async def _index(home: Path) -> list[IndexedCommand]:
    env = {"HOME": str(home)}
    opened = open_session(LaunchOptions(cwd=home, needs_model=False), env)
    try:
        return built_index(CommandHost(opened=opened, env=env))
    finally:
        await opened.close()


async def _infos(home: Path) -> tuple[SlashCommandInfo, ...]:
    env = {"HOME": str(home)}
    opened = open_session(LaunchOptions(cwd=home, needs_model=False), env)
    try:
        receipt = await with_commands(opened, env).submit(ListSlashCommands())
    finally:
        await opened.close()
    assert isinstance(receipt, Accepted) and isinstance(receipt.outcome, CommandList)
    return receipt.outcome.commands


def _section(info: SlashCommandInfo) -> Iterator[str]:
    yield f"## `{f'/{info.name} {info.argument_hint}'.strip()}`\n"
    also = f" Also: {', '.join(f'`/{alias}`' for alias in info.aliases)}." if info.aliases else ""
    needs = " Needs a model." if info.needs_model else ""
    waits = "" if info.while_working else " Not available while the agent is working."
    yield f"{info.description[0].upper()}{info.description[1:]}.{also}{needs}{waits}\n"
    for each in info.subcommands:
        words = " ".join(each.description.split())
        yield f"- `{f'{each.name} {each.argument_hint}'.strip()}`" + (f": {words}" if words else "")
    if info.subcommands:
        yield ""
