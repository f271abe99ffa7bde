"""`/init`: the model writes the instruction file of the project."""

from collections.abc import Iterable
from typing import Final

from robota.commands.command import SlashCommand, send_prompt
from robota.commands.host import CommandHost
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, SlashCommandInfo

INFO: Final = SlashCommandInfo(
    name="init",
    argument_hint="[WORDS]",
    description="let the model write or improve AGENTS.md, optionally with guidance",
    needs_model=True,
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/init`. The change of the model needs approval like any other."""

    async def init(arguments: str) -> CommandOutcome | Refused:
        return await send_prompt(host.session, f"/init {arguments}".strip())

    yield SlashCommand(info=INFO, run=init)
