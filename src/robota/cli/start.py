"""`start`: the command line of a program that embeds Robota."""

from collections.abc import Sequence

from robota.cli.main import main
from robota.commands.registry import OwnCommand
from robota.contracts.tool import AnyTool
from robota.embedding.additions import Embedding
from robota.providers.definition import ProviderDefinition
from robota.workspace.agent_mark import mark_this_process


def start(
    argv: Sequence[str] | None = None,
    *,
    provider_definitions: Sequence[ProviderDefinition] = (),
    commands: Sequence[OwnCommand] = (),
    tools: Sequence[AnyTool] = (),
    prompt_parts: Sequence[str] = (),
) -> int:
    """Run `robota` with provider types, slash commands, tools and parts of the prompt of this program.

    `argv` is without the name of the program; by default it is that of this process. They are available in
    conversations and in print mode; sub-commands such as `robota doctor` know only the built-in ones. Returns the exit
    code.
    """
    mark_this_process()
    embedding = Embedding(
        provider_definitions=tuple(provider_definitions),
        commands=tuple(commands),
        tools=tuple(tools),
        prompt_parts=tuple(prompt_parts),
    )
    return main(argv, embedding)
