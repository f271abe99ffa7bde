"""`/background`: what works beside the conversation, processes and agents alike."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from robota.commands.command import SlashCommand, shown_text, wrong_arguments
from robota.commands.conversation.agents import read_agent, state_in_words
from robota.commands.effect import reads_only
from robota.commands.host import CommandHost
from robota.engine.task.agents.agent import Agent
from robota.protocol.calls import ENDED, BackgroundTask
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandShown, SlashCommandInfo, SubcommandInfo
from robota.protocol.views import TableView
from robota.text.counted import counted
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.workspace.process.background import BackgroundProcess

MAX_COMMAND: Final = 120
MAX_LINES: Final = 200
NOTHING: Final = "There is no background work."
NO_OUTPUT: Final = "There is no output of background work."
BACKGROUND: Final = SlashCommandInfo(
    name="background",
    argument_hint="[list | read ID [LINE] | stop ID | close ID]",
    description="manage background commands and agents",
    subcommands=(
        SubcommandInfo(name="list", description="list what this session started, including what has ended"),
        SubcommandInfo(
            name="read", argument_hint="ID [LINE]", description="show the end of its output, or what comes after LINE"
        ),
        SubcommandInfo(name="stop", argument_hint="ID | all", description="stop one, or all; cancel means the same"),
        SubcommandInfo(name="close", argument_hint="ID | all", description="remove one that has ended from the list"),
    ),
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/background`."""

    async def background(arguments: str) -> CommandOutcome | Refused:
        return await _background(arguments.split(), host)

    yield SlashCommand(
        info=BACKGROUND,
        run=background,
        effect=reads_only("", "list", "read", instead="robota, and type it there"),
        complete=partial(_complete_ids, host),
    )


async def _background(words: list[str], host: CommandHost) -> CommandOutcome | Refused:
    match words:
        case [] | ["list"]:
            return _listed(host.session.background.tasks())
        case ["read", "all"]:
            texts = [_output_tail(host, each) for each in host.services.processes.background]
            return shown_text("\n".join(texts) or NO_OUTPUT)
        case ["read", name] | ["read", name, _]:
            return await _read(host, name, words[2] if len(words) > 2 else None)
        case [("stop" | "cancel" | "close") as verb, name]:
            named = _named(host, name)
            if not named and name != "all":
                return _unknown(name)
            return _close(host, named) if verb == "close" else await _stop(host, named)
        case _:
            return wrong_arguments(BACKGROUND, "Invalid arguments for /background.")


def _unknown(name: str) -> Refused:
    return wrong_arguments(BACKGROUND, f"There is no background work {single_line(name)}.")


def _named(host: CommandHost, name: str) -> "list[BackgroundProcess | Agent]":
    """The process or agent with this id, a process also without `bg`; or all."""
    processes, work = host.services.processes, host.session.background
    if name == "all":
        return [*processes.background, *(agent for agent in work.agents if agent.is_background)]
    if (agent := work.find(name)) is not None and not name.isdecimal():
        return [agent]
    process = processes.find_background(name if name.startswith("bg") else f"bg{name}")
    return [] if process is None else [process]


async def _read(host: CommandHost, name: str, line: str | None) -> CommandOutcome | Refused:
    named = _named(host, name)
    if not named:
        return _unknown(name)
    if line is not None and not (line.isascii() and line.isdecimal()):
        return wrong_arguments(BACKGROUND, "LINE is a number.")
    first = None if line is None else int(line)
    if isinstance(named[0], Agent):
        return await read_agent(host, named[0], first)
    return shown_text(_output_tail(host, named[0]) if first is None else _output_after(named[0], first))


def _output_tail(host: CommandHost, process: "BackgroundProcess") -> str:
    if process.ending is not None and not process.is_read:
        process.is_read = True
        host.services.processes.on_background()
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


def _close(host: CommandHost, named: "Sequence[BackgroundProcess | Agent]") -> CommandShown:
    ended = [each for each in named if _has_ended(each)]
    for each in ended:
        if isinstance(each, Agent):
            host.session.background.dismiss(each)
        else:
            each.is_put_away = True
    host.services.processes.on_background()
    still = "".join(f" {each.id} is still running." for each in named if not _has_ended(each))
    return shown_text(f"Removed: {', '.join(each.id for each in ended) or 'nothing'}.{still}")


async def _stop(host: CommandHost, named: "Sequence[BackgroundProcess | Agent]") -> CommandShown:
    running = [each for each in named if not _has_ended(each)]
    if not running:
        return shown_text(NOTHING)
    await asyncio.gather(
        *(host.session.background.stop(each) if isinstance(each, Agent) else each.stop() for each in running)
    )
    return shown_text(f"Ended: {', '.join(f'{each.id} ({_what(each)})' for each in running)}.")


def _has_ended(each: "BackgroundProcess | Agent") -> bool:
    return each.is_over if isinstance(each, Agent) else each.ending is not None


def _what(each: "BackgroundProcess | Agent") -> str:
    return single_line(each.title if isinstance(each, Agent) else each.command, MAX_COMMAND)


def _listed(tasks: Sequence[BackgroundTask]) -> CommandShown:
    rows = tuple(
        (task.id, task.kind, state_in_words(task), _ending(task), task.command[:MAX_COMMAND]) for task in tasks
    )
    if not rows:
        return shown_text(NOTHING)
    return CommandShown(view=TableView(columns=("ID", "KIND", "STATE", "ENDED WITH", "WORK"), rows=rows))


def _row(task: BackgroundTask) -> tuple[str, ...]:
    return (task.id, task.kind, state_in_words(task), _ending(task), task.command[:MAX_COMMAND])


def _ending(task: BackgroundTask) -> str:
    if task.signal is not None:
        return task.signal
    return "" if task.exit_code is None else f"exit code {task.exit_code}"


def _complete_ids(host: CommandHost, before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    if before not in (("stop",), ("cancel",), ("close",), ("read",)):
        return
    for task in host.session.background.tasks():
        if before == ("read",) or (task.status in ENDED) == (before == ("close",)):
            yield SubcommandInfo(name=task.id, description=task.command)
    yield SubcommandInfo(name="all", description="all of them")
