"""`/memory`: manages the memory between sessions."""

from collections.abc import Iterable
from typing import Final

from robota.commands.command import SlashCommand, wrong_arguments
from robota.commands.host import CommandHost
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandShown, SlashCommandInfo, SubcommandInfo

INFO: Final = SlashCommandInfo(
    name="memory",
    argument_hint="[list | show | add | note | pending | approve | reject | used | forget | check]",
    description="manage memory between sessions; # TEXT remembers something",
    subcommands=(
        SubcommandInfo(name="list", description="list entries, and which are stale"),
        SubcommandInfo(name="show", argument_hint="[TOPIC]", description="show the index, or a topic"),
        SubcommandInfo(
            name="add",
            argument_hint="[--user] TYPE TOPIC TEXT [--run COMMAND]",
            description="remember something; --user: for all projects; --run: command that succeeds while it is true",
        ),
        SubcommandInfo(
            name="note", argument_hint="[--user] TEXT", description="remember something without type and topic"
        ),
        SubcommandInfo(name="pending", description="list proposed entries waiting for you"),
        SubcommandInfo(name="approve", argument_hint="ID", description="accept a proposed entry"),
        SubcommandInfo(name="reject", argument_hint="ID", description="reject a proposed entry for good"),
        SubcommandInfo(name="used", description="list the entries the model was given in this session"),
        SubcommandInfo(name="forget", argument_hint="ID", description="remove an entry"),
        SubcommandInfo(name="check", argument_hint="[ID]", description="run the check commands of entries"),
    ),
)


def memory_commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/memory`. Its implementation is loaded with the first request."""

    async def memory(arguments: str) -> CommandOutcome | Refused:
        from robota.commands.memory_requests import BadMemoryRequest, parse_memory_request
        from robota.knowledge.memory.store import MemoryProblem

        try:
            answer = await host.program.memory().execute(parse_memory_request(arguments))
        except BadMemoryRequest as problem:
            return wrong_arguments(INFO, str(problem))
        except MemoryProblem as problem:
            return Refused(code="memory", message=str(problem))
        return CommandShown(view=answer.view)

    yield SlashCommand(info=INFO, run=memory)
