"""Commands about the work itself: what was changed, what runs in the background, a review, what Robota needs."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from robota.commands.command import SlashCommand, send_prompt, shown_diff, told, wrong_arguments
from robota.commands.host import CommandHost
from robota.contracts.workspace import Processes
from robota.engine.session.session import Session
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandShown, SlashCommandInfo, SubcommandInfo
from robota.protocol.views import TableView
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.workspace.process.background import BackgroundProcess

COMMAND_SHOWN: Final = 120
DIFF: Final = SlashCommandInfo(
    name="diff", argument_hint="[N]", description="what this session changed so far, or only prompt N"
)
BACKGROUND: Final = SlashCommandInfo(
    name="background",
    argument_hint="[stop ID | stop all]",
    description="the commands that run in the background",
    subcommands=(SubcommandInfo(name="stop", argument_hint="ID | all", description="end one of them, or all"),),
)
REVIEW: Final = SlashCommandInfo(
    name="review",
    argument_hint="[WORDS]",
    description="let the model review the changes of the working tree; words say what matters",
    needs_model=True,
)
DOCTOR: Final = SlashCommandInfo(name="doctor", description="look at everything that Robota needs")
REVIEW_PROMPT: Final = """\
Review the changes in this working tree and do not change any file.

Find out with git what changed: the status, the unstaged and the staged changes; if there are none, the commits of \
this branch that its main branch does not have. Read the code around each change and not only the lines of the diff.

Report what is wrong, the worst first: errors in behaviour, lost data, security, races, missing handling of failures, \
tests that are missing or would not notice. For each say the file and line, what happens and when, and how to mend it. \
Leave out matters of taste. If nothing is wrong, say so and say what you looked at."""


def workspace_commands(session: Session, host: CommandHost) -> Iterable[SlashCommand]:
    """`/diff`, `/background`, `/review` and `/doctor`."""
    processes = host.services.processes

    async def diff(arguments: str) -> CommandOutcome | Refused:
        if arguments and not (arguments.isascii() and arguments.isdecimal()):
            return wrong_arguments(DIFF, "Say the number of a prompt, as /rewind lists them.")
        found = await session.rewind.diff(int(arguments) if arguments else None)
        return found if isinstance(found, Refused) else shown_diff(found, "Nothing was changed.")

    async def background(arguments: str) -> CommandOutcome | Refused:
        match arguments.split():
            case []:
                return _listed(processes.background)
            case ["stop", "all"]:
                return await _stopped([each for each in processes.background if each.ending is None])
            case ["stop", name]:
                found = processes.find_background(name if name.startswith("bg") else f"bg{name}")
                if found is None:
                    return wrong_arguments(BACKGROUND, f"Nothing runs as {single_line(name)}.")
                return await _stopped([found])
            case _:
                return wrong_arguments(BACKGROUND, "That is not a form of /background.")

    async def review(arguments: str) -> CommandOutcome | Refused:
        prompt = f"{REVIEW_PROMPT}\n\nAbove all: {arguments}" if arguments else REVIEW_PROMPT
        return await send_prompt(session, prompt, f"/review {arguments}".strip())

    async def doctor(arguments: str) -> CommandOutcome | Refused:
        return CommandShown(view=await host.program.examine())

    yield SlashCommand(info=DIFF, run=diff)
    yield SlashCommand(info=BACKGROUND, run=background, complete=partial(_running_words, processes))
    yield SlashCommand(info=REVIEW, run=review)
    yield SlashCommand(info=DOCTOR, run=doctor)


def _running_words(processes: Processes, before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    if before != ("stop",):
        return
    for each in processes.background:
        if each.ending is None:
            yield SubcommandInfo(name=each.id, description=each.command)
    yield SubcommandInfo(name="all", description="all of them")


def _listed(processes: "Iterable[BackgroundProcess]") -> CommandShown:
    rows = tuple(
        (each.id, _state(each), f"{each.age_s:.0f} s", single_line(each.command, COMMAND_SHOWN)) for each in processes
    )
    if not rows:
        return told("Nothing runs in the background.")
    return CommandShown(view=TableView(columns=("ID", "STATE", "AGE", "COMMAND"), rows=rows))


def _state(process: "BackgroundProcess") -> str:
    if process.ending is not None:
        return "ended"
    return "waits for input" if process.waits_for_input() else "runs"


async def _stopped(processes: "list[BackgroundProcess]") -> CommandShown:
    await asyncio.gather(*(each.stop() for each in processes))
    if not processes:
        return told("Nothing runs in the background.")
    return told(f"Ended: {', '.join(f'{each.id} ({single_line(each.command, COMMAND_SHOWN)})' for each in processes)}.")
