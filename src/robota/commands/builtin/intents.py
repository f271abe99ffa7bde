"""`/intents`: what agents may work on here."""

from collections.abc import Iterable
from typing import Final

from robota.commands.command import SlashCommand, wrong_arguments
from robota.commands.host import CommandHost
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandShown, SlashCommandInfo, SubcommandInfo

INFO: Final = SlashCommandInfo(
    name="intents",
    argument_hint="[list | show | new | start | complete | status | map]",
    description="what agents may work on in this repository, and how far that is",
    subcommands=(
        SubcommandInfo(name="list", description="all intents"),
        SubcommandInfo(name="show", argument_hint="ID", description="what it owns, what to keep to, when it is done"),
        SubcommandInfo(
            name="new",
            argument_hint="NAME -- PATTERN…",
            description="write down an intent; it is PENDING until it is started",
        ),
        SubcommandInfo(name="start", argument_hint="ID", description="let agents work on it"),
        SubcommandInfo(
            name="complete", argument_hint="ID", description="run its criteria; refused while one does not pass"
        ),
        SubcommandInfo(
            name="status",
            argument_hint="[ID]",
            description="files outside of scope, criteria never run, sessions, cost, approvals",
        ),
        SubcommandInfo(name="map", description="which files were changed for which intent, as intent_map.md"),
    ),
)


def intent_commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/intents`. What it needs is loaded with the first request."""

    async def intents(arguments: str) -> CommandOutcome | Refused:
        from robota.commands.intent_requests import BadIntentRequest, CreateIntent, intent_request
        from robota.intents.intent import IntentProblem
        from robota.intents.intent_files import INTENTS, has_intents

        try:
            upkeep, request = host.program.intents(), intent_request(arguments)
            if not isinstance(request, CreateIntent) and not has_intents(upkeep.files.home):
                problem = f"There are no intents here: no {INTENTS}. /intents new makes one. Nothing was changed."
                return Refused(code="intents", message=problem)
            answer = await upkeep.carry_out(request)
        except BadIntentRequest as problem:
            return wrong_arguments(INFO, str(problem))
        except (IntentProblem, OSError) as problem:
            return Refused(code="intents", message=f"{problem}. Nothing was changed.")
        return CommandShown(view=answer.view)

    yield SlashCommand(info=INFO, run=intents)
