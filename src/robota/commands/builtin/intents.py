"""`/intents`: manages what agents may work on."""

from collections.abc import Iterable
from typing import Final

from robota.commands.command import SlashCommand, wrong_arguments
from robota.commands.host import CommandHost
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandShown, SlashCommandInfo, SubcommandInfo

INFO: Final = SlashCommandInfo(
    name="intents",
    argument_hint="[list | show | new | start | complete | status | map]",
    description="manage intents: what agents may work on in this repository",
    subcommands=(
        SubcommandInfo(name="list", description="list all intents"),
        SubcommandInfo(
            name="show", argument_hint="ID", description="show its scope, constraints and acceptance criteria"
        ),
        SubcommandInfo(
            name="new",
            argument_hint="NAME -- PATTERN…",
            description="create an intent; it is PENDING until started",
        ),
        SubcommandInfo(
            name="start", argument_hint="ID", description="activate an intent, so that agents may work on it"
        ),
        SubcommandInfo(name="complete", argument_hint="ID", description="run its criteria and complete it if all pass"),
        SubcommandInfo(
            name="status",
            argument_hint="[ID]",
            description="show out-of-scope files, criteria not run, sessions, cost and approvals",
        ),
        SubcommandInfo(name="map", description="map files to the intents they were changed for, as in intent_map.md"),
    ),
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/intents`. Its implementation is loaded with the first request."""

    async def intents(arguments: str) -> CommandOutcome | Refused:
        from robota.commands.intent_requests import BadIntentRequest, CreateIntent, parse_intent_request
        from robota.intents.intent import IntentProblem
        from robota.intents.intent_files import INTENTS, has_intents

        try:
            upkeep, request = host.program.intents(), parse_intent_request(arguments)
            if not isinstance(request, CreateIntent) and not has_intents(upkeep.files.home):
                problem = (
                    f"There are no intents here: {INTENTS} does not exist. To create one: /intents new. Nothing was "
                    "changed."
                )
                return Refused(code="intents", message=problem)
            answer = await upkeep.execute(request)
        except BadIntentRequest as problem:
            return wrong_arguments(INFO, str(problem))
        except (IntentProblem, OSError) as problem:
            return Refused(code="intents", message=f"{problem}. Nothing was changed.")
        return CommandShown(view=answer.view)

    yield SlashCommand(info=INFO, run=intents)
