"""Names of slash commands: precedence, lookup, and which lines are commands."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from robota.commands.command import SlashCommand, shown_text
from robota.commands.effect import reads
from robota.commands.registry import CommandRegistry
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandSource, SlashCommandInfo, typed_command


class Fixed:
    """A provider of commands with the given names."""

    def __init__(self, source: CommandSource, *names: str) -> None:
        self.source = source
        self._names = names

    def commands(self) -> Iterable[SlashCommand]:
        for name in self._names:
            info = SlashCommandInfo(name=name, description=name, source=self.source, aliases=(f"{name}-alias",))
            yield SlashCommand(info=info, run=say, effect=reads)


async def say(arguments: str) -> CommandOutcome:
    return shown_text(arguments)


def source_of(registry: CommandRegistry, name: str) -> CommandSource | str:
    found = registry.find(name)
    return found.message if isinstance(found, Refused) else found.info.source


def test_a_custom_command_never_shadows_a_built_in_one() -> None:
    registry = CommandRegistry(
        [Fixed(CommandSource.PROJECT, "help", "mine"), Fixed(CommandSource.BUILT_IN, "help", "exit")]
    )
    assert source_of(registry, "help") is CommandSource.BUILT_IN
    assert source_of(registry, "mine") is CommandSource.PROJECT
    assert [command.info.name for command in registry.all()] == ["help", "exit", "project:help", "mine"]


def test_a_command_that_a_built_in_one_hides_is_found_by_its_source() -> None:
    registry = CommandRegistry(
        [Fixed(CommandSource.BUILT_IN, "report"), Fixed(CommandSource.USER, "report"), Fixed(CommandSource.MCP, "mine")]
    )
    assert source_of(registry, "user:report") is CommandSource.USER
    assert "There is no command" in source_of(registry, "mcp:mine"), "it is hidden by nothing"


def test_an_alias_never_shadows_a_name() -> None:
    registry = CommandRegistry([Fixed(CommandSource.BUILT_IN, "help"), Fixed(CommandSource.USER, "help-alias")])
    assert source_of(registry, "help-alias") is CommandSource.BUILT_IN


def test_names_ignore_case_and_near_misses_are_suggested() -> None:
    registry = CommandRegistry([Fixed(CommandSource.BUILT_IN, "permissions")])
    assert source_of(registry, "Permissions") is CommandSource.BUILT_IN
    assert source_of(registry, "permision") == "There is no command /permision. Did you mean /permissions?"
    assert source_of(registry, "undo") == "There is no command /undo. Did you mean /rewind undo?"
    assert source_of(registry, "zzz") == "There is no command /zzz. /help lists them."


@given(st.text())
def test_every_line_is_text_or_a_command_with_its_arguments(line: str) -> None:
    typed = typed_command(line)
    if typed is None:
        return
    assert line.split() == [f"/{typed.name}", *typed.arguments.split()]
    assert "/" not in typed.name
