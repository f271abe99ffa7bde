"""Commands about the workspace: diff, background commands, review and instructions."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from robota.commands.command import SlashCommand, send_prompt, shown_diff, shown_text, wrong_arguments
from robota.commands.host import CommandHost
from robota.contracts.workspace import Processes
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandShown, SlashCommandInfo, SubcommandInfo
from robota.protocol.views import TableView
from robota.text.counted import counted
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.workspace.process.background import BackgroundProcess

MAX_COMMAND: Final = 120
MAX_LINES: Final = 200
NO_PROCESSES: Final = "There are no background processes."
DIFF: Final = SlashCommandInfo(
    name="diff", argument_hint="[N]", description="show what this session changed, or only prompt N"
)
INIT: Final = SlashCommandInfo(
    name="init",
    argument_hint="[WORDS]",
    description="let the model write or improve AGENTS.md, optionally with guidance",
    needs_model=True,
)
BACKGROUND: Final = SlashCommandInfo(
    name="background",
    argument_hint="[list | read ID [LINE] | stop ID | close ID]",
    description="manage background commands",
    subcommands=(
        SubcommandInfo(name="list", description="list those of this session, including finished ones"),
        SubcommandInfo(
            name="read", argument_hint="ID [LINE]", description="show the end of its output, or what comes after LINE"
        ),
        SubcommandInfo(name="stop", argument_hint="ID | all", description="stop one, or all"),
        SubcommandInfo(name="close", argument_hint="ID | all", description="remove a finished one from the list"),
    ),
)
REVIEW: Final = SlashCommandInfo(
    name="review",
    argument_hint="[WORDS]",
    description="let the model review the working tree, optionally with guidance",
    needs_model=True,
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/diff`, `/background`, `/review` and `/init`."""
    session, processes = host.session, host.services.processes

    async def diff(arguments: str) -> CommandOutcome | Refused:
        if arguments and not (arguments.isascii() and arguments.isdecimal()):
            return wrong_arguments(DIFF, "Give a prompt number from /rewind list.")
        found = await session.rewind.diff(int(arguments) if arguments else None)
        return found if isinstance(found, Refused) else shown_diff(found, "Nothing was changed.")

    async def background(arguments: str) -> CommandOutcome | Refused:
        return await _background(arguments.split(), processes)

    async def init(arguments: str) -> CommandOutcome | Refused:
        return await send_prompt(session, f"/init {arguments}".strip())

    async def review(arguments: str) -> CommandOutcome | Refused:
        return await send_prompt(session, f"/review {arguments}".strip())

    yield SlashCommand(info=DIFF, run=diff)
    yield SlashCommand(info=BACKGROUND, run=background, complete=partial(_complete_ids, processes))
    yield SlashCommand(info=REVIEW, run=review)
    yield SlashCommand(info=INIT, run=init)


async def _background(words: list[str], processes: Processes) -> CommandOutcome | Refused:
    match words:
        case [] | ["list"]:
            return _listed(processes.background)
        case ["read", name, line] if line.isascii() and line.isdecimal() and name != "all":
            found = _named(processes, name)
            return shown_text(_output_after(found[0], int(line))) if found else _unknown(name)
        case [("read" | "stop" | "cancel" | "close") as verb, name]:
            found = _named(processes, name)
            if not found and name != "all":
                return _unknown(name)
            if verb == "read":
                return shown_text("\n".join(map(_output_tail, found)) or NO_PROCESSES)
            return _close(found, processes) if verb == "close" else await _stop(found)
        case _:
            return wrong_arguments(BACKGROUND, "Invalid arguments for /background.")


def _unknown(name: str) -> Refused:
    return wrong_arguments(BACKGROUND, f"There is no background process {single_line(name)}.")


def _named(processes: Processes, name: str) -> "list[BackgroundProcess]":
    """The process with this id, with or without `bg`, or all."""
    if name == "all":
        return list(processes.background)
    found = processes.find_background(name if name.startswith("bg") else f"bg{name}")
    return [] if found is None else [found]


def _output_tail(process: "BackgroundProcess") -> str:
    lines = process.last_text.rstrip("\n").split("\n")[-MAX_LINES:]
    return "\n".join(lines) if any(lines) else f"{process.id} has no output."


def _output_after(process: "BackgroundProcess", line: int) -> str:
    """The lines after this one; of a very long output only both ends are kept."""
    output = process.output
    left_out = output.total - len(output.head) - len(output.tail)
    gap = f"\n({left_out:,} characters are left out here)\n" if left_out else ""
    lines = f"{output.head}{gap}{output.tail}".rstrip("\n").split("\n")
    shown = lines[line : line + MAX_LINES]
    more = len(lines) - line - len(shown)
    hint = [f"... +{counted(more, 'line')} (/background read {process.id} {line + len(shown)})"] if more > 0 else []
    return "\n".join([*shown, *hint]) or f"{process.id} has no output after line {line:,}."


def _close(found: "list[BackgroundProcess]", processes: Processes) -> CommandShown:
    ended = [each for each in found if each.ending is not None]
    for each in ended:
        each.is_put_away = True
    processes.on_background()
    still = "".join(f" {each.id} is still running." for each in found if each.ending is None)
    return shown_text(f"Removed: {', '.join(each.id for each in ended) or 'nothing'}.{still}")


def _complete_ids(processes: Processes, before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    if before not in (("stop",), ("close",), ("read",)):
        return
    for each in processes.background:
        if (each.ending is None) == (before == ("stop",)) or before == ("read",):
            yield SubcommandInfo(name=each.id, description=each.command)
    yield SubcommandInfo(name="all", description="all of them")


def _listed(processes: "Iterable[BackgroundProcess]") -> CommandShown:
    rows = tuple(
        (each.id, _state(each), f"{each.age_s:.0f} s", single_line(each.command, MAX_COMMAND)) for each in processes
    )
    if not rows:
        return shown_text(NO_PROCESSES)
    return CommandShown(view=TableView(columns=("ID", "STATE", "AGE", "COMMAND"), rows=rows))


def _state(process: "BackgroundProcess") -> str:
    if process.ending is not None:
        return "ended"
    return "waiting for input" if process.waits_for_input() else "runs"


async def _stop(found: "list[BackgroundProcess]") -> CommandShown:
    processes = [each for each in found if each.ending is None]
    await asyncio.gather(*(each.stop() for each in processes))
    if not processes:
        return shown_text(NO_PROCESSES)
    return shown_text(
        f"Ended: {', '.join(f'{each.id} ({single_line(each.command, MAX_COMMAND)})' for each in processes)}."
    )
