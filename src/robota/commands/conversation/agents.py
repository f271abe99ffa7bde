"""`/agent`: start agents, alone or together, read what they do, talk to them, stop and dismiss them."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from robota.commands.command import SlashCommand, shown_text, wrong_arguments
from robota.commands.effect import Effect, MakesChanges, Prompts, Reads
from robota.commands.host import CommandHost
from robota.protocol.calls import BackgroundStatus, BackgroundTask, WaitPolicy
from robota.protocol.commands import OlderRowsRequest, Refused
from robota.protocol.slash_commands import (
    AgentsShown,
    CommandOutcome,
    CommandShown,
    RowsShown,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.protocol.views import TableView
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.commands.conversation import agent_line as lines
    from robota.contracts.agent import AgentDefinition
    from robota.engine.session.background.groups import Group
    from robota.engine.task.agents.agent import Agent

# How long a command waits for agents. They go on after that.
MAX_WAIT_S: Final = 600.0
MAX_ROWS: Final = 200
AGENT: Final = SlashCommandInfo(
    name="agent",
    argument_hint="[NAME] PROMPT | parallel | wait | read | send | stop | close | merge | open",
    description="start agents, and see, steer and stop those that work",
    needs_model=True,
    subcommands=(
        SubcommandInfo(name="list", description="list the agents of this session"),
        SubcommandInfo(
            name="run",
            argument_hint="[--agent NAME] [--model M] [--name LABEL] [--isolation worktree] PROMPT",
            description="start one; the same without the word run",
        ),
        SubcommandInfo(
            name="parallel",
            argument_hint='[--wait|--any|--detach|--manual] label:"prompt" label=agent:"prompt"',
            description="start several as a group",
        ),
        SubcommandInfo(name="wait", argument_hint="GROUP | ID", description="show how it ended, once it has"),
        SubcommandInfo(name="read", argument_hint="ID [ROW]", description="show its conversation, also while it works"),
        SubcommandInfo(name="send", argument_hint="ID PROMPT", description="give it another message"),
        SubcommandInfo(name="stop", argument_hint="ID", description="stop it, and the agents that it started"),
        SubcommandInfo(name="close", argument_hint="ID", description="remove one that has ended from the list"),
        SubcommandInfo(name="merge", argument_hint="ID [FILE …]", description="bring in the changes of its worktree"),
        SubcommandInfo(name="open", argument_hint="[ID]", description="watch agents in full screen, and talk to them"),
    ),
)
NOTHING: Final = "There are no agents. To start one: /agent PROMPT, or /agent NAME PROMPT."
READING: Final = frozenset({"", "list", "read", "wait", "open"})
CHANGING: Final = frozenset({"stop", "cancel", "close", "merge"})


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/agent`."""

    async def agent(arguments: str) -> CommandOutcome | Refused:
        from robota.commands.conversation.agent_line import WrongLine, agent_line

        try:
            order = agent_line(arguments, lambda name: definition_named(host, name))
        except WrongLine as wrong:
            return wrong_arguments(AGENT, str(wrong))
        return await _carried_out(host, order, f"/agent {arguments}".strip())

    yield SlashCommand(info=AGENT, run=agent, effect=_effect, complete=partial(_complete, host))


def definition_named(host: CommandHost, name: str) -> "AgentDefinition | None":
    """The agent of that name that can be started in this session."""
    service = host.services.agents
    return None if service is None else service.find(name)


def _effect(arguments: str) -> Effect:
    first = (arguments.split(maxsplit=1) or ("",))[0]
    if first in READING:
        return Reads()
    return MakesChanges("robota, and type it there") if first in CHANGING else Prompts()


async def _carried_out(host: CommandHost, order: "lines.AgentLine", line: str) -> CommandOutcome | Refused:
    from robota.commands.conversation import agent_line as lines

    work = host.session.background
    match order:
        case lines.ListAll():
            return _listed(work.agents)
        case lines.Open(name):
            return _opened(host, name)
        case lines.Run(start):
            started = await work.start(start, line)
            return started if isinstance(started, Refused) else await _begun(host, started)
        case lines.RunTogether(orders, policy):
            group = await work.start_together(orders, policy, line)
            return group if isinstance(group, Refused) else await _begun_together(host, group)
        case lines.Wait(name):
            return await _waited(host, name)
        case lines.Merge(name, paths):
            agent = work.find(name)
            return _unknown(name) if agent is None else await _merged(host, agent, paths, line)
        case lines.Read() | lines.Send() | lines.Stop() | lines.Close():
            agent = work.find(order.agent)
            return _unknown(order.agent) if agent is None else await _about(host, agent, order)
        case never:
            assert_never(never)


async def _about(
    host: CommandHost, agent: "Agent", order: "lines.Read | lines.Send | lines.Stop | lines.Close"
) -> CommandOutcome | Refused:
    from robota.commands.conversation import agent_line as lines

    work = host.session.background
    match order:
        case lines.Read(_, first_row):
            return await read_agent(host, agent, first_row)
        case lines.Send(_, text):
            return shown_text(work.send(agent, text))
        case lines.Stop() if agent.is_over:
            return shown_text(f"{agent.identity.shown_name} has ended already.")
        case lines.Stop():
            await work.stop(agent)
            return shown_text(f"Stopped: {agent.title}." if agent.is_over else f"{agent.id} is being stopped.")
        case lines.Close() if not agent.is_over:
            return shown_text(f"{agent.id} is still running. To stop it: /agent stop {agent.id}")
        case lines.Close():
            work.dismiss(agent)
            return shown_text(f"Removed: {agent.id}.")
        case never:
            assert_never(never)


async def _merged(host: CommandHost, agent: "Agent", paths: tuple[str, ...], line: str) -> CommandOutcome | Refused:
    """The changes of its worktree as one call, which is shown and approved like any other."""
    from robota.agents.worktrees.errors import WorktreeError
    from robota.commands.agents.merging import patch_of, patch_tool

    if agent.worktree is None:
        return shown_text(f"{agent.identity.shown_name} has no worktree. Nothing was changed.")
    if not agent.is_over:
        return shown_text(f"{agent.id} still works. Nothing was changed. To wait for it: /agent wait {agent.id}")
    try:
        patch = await patch_of(agent.worktree, host.root, host.services.files.for_call(), host.env, paths)
    except WorktreeError as error:
        return shown_text(str(error))
    if not patch.text:
        return shown_text(f"There is nothing to bring in. {patch.remarks}".strip())
    executed = await host.session.background.call(patch_tool(host.services.tools.all), {"patch": patch.text}, line)
    if isinstance(executed, Refused):
        return executed
    if executed.status != "success":
        return shown_text(f"Nothing was changed: {executed.reason or executed.result.content}")
    names = ", ".join(patch.files)
    host.session.background.remind(f"The user has brought in changes of agent {agent.id}, to: {names}.")
    return shown_text(f"Brought in: {names}. {patch.remarks}".strip())


async def _begun(host: CommandHost, agent: "Agent") -> CommandOutcome:
    if host.options.launch.attended:
        return shown_text(f"{agent.identity.shown_name} works in the background: /agent read {agent.id}")
    await host.session.background.until_over(agent, MAX_WAIT_S)
    return shown_text(_report(agent))


async def _begun_together(host: CommandHost, group: "Group") -> CommandOutcome:
    if group.policy in (WaitPolicy.WAIT_ALL, WaitPolicy.WAIT_ANY) or not host.options.launch.attended:
        await group.until_complete(MAX_WAIT_S)
        return shown_text(group.shown.summary)
    members = ", ".join(agent.identity.shown_name for agent in group.members)
    return shown_text(f"{group.id} works in the background ({members}): /agent wait {group.id}")


async def _waited(host: CommandHost, name: str) -> CommandOutcome | Refused:
    work = host.session.background
    group = work.groups.find(name)
    if group is not None:
        await group.until_complete(MAX_WAIT_S)
        for member in group.members:
            work.seen(member)
        return shown_text(group.shown.summary)
    agent = work.find(name)
    if agent is None:
        return wrong_arguments(AGENT, f"There is no group or agent {single_line(name, 80)}.")
    await work.until_over(agent, MAX_WAIT_S)
    work.seen(agent)
    return shown_text(_report(agent))


def _report(agent: "Agent") -> str:
    if agent.ended is None:
        return f"{agent.identity.shown_name} still works."
    return agent.ended.text.strip() or f"{agent.identity.shown_name} reported nothing."


async def read_agent(host: CommandHost, agent: "Agent", first_row: int | None) -> CommandOutcome | Refused:
    """Its conversation: the newest rows, or those from a row on, counted from 0."""
    request = OlderRowsRequest(task_id=agent.task.runtime.task_id, limit=MAX_ROWS)
    page = await host.session.older_rows(request)
    if isinstance(page, Refused):
        return page
    host.session.background.seen(agent)
    if first_row is not None:
        rows = page.messages[max(0, first_row - page.older_rows) :]
        page = type(page)(task_id=page.task_id, messages=rows, older_rows=first_row, calls=page.calls)
    return RowsShown(rows=page)


def _opened(host: CommandHost, name: str | None) -> CommandOutcome | Refused:
    found = None if name is None else host.session.background.find(name)
    if name is not None and found is None:
        return _unknown(name)
    listed = _listed(host.session.background.agents)
    return AgentsShown(view=listed.view, task_id=None if found is None else found.task.runtime.task_id)


def _unknown(name: str) -> Refused:
    return wrong_arguments(AGENT, f"There is no agent {single_line(name, 80)} in this session.")


def _listed(agents: "Iterable[Agent]") -> CommandShown:
    rows = tuple(_row(agent.shown()) for agent in agents if not agent.is_dismissed)
    if not rows:
        return shown_text(NOTHING)
    return CommandShown(view=TableView(columns=("ID", "AGENT", "STATE", "REQUESTS", "COST", "WORK"), rows=rows))


def _row(task: BackgroundTask) -> tuple[str, ...]:
    return (
        task.id,
        task.label,
        state_in_words(task),
        str(task.requests),
        "" if task.cost is None else f"${task.cost:.4f}",
        task.command,
    )


def state_in_words(task: BackgroundTask) -> str:
    """The state of background work, as lists show it."""
    unread = ", unread" if task.is_unread else ""
    if task.status is BackgroundStatus.WAITING_PERMISSION:
        return "waits for your answer"
    return f"{task.limit or task.status}{unread}"


def _complete(host: CommandHost, before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    if not before:
        service = host.services.agents
        for definition in () if service is None else service.definitions():
            yield SubcommandInfo(name=definition.name, description=definition.description)
        return
    work = host.session.background
    if before == ("wait",):
        for group in work.groups:
            yield SubcommandInfo(name=group.id, description=group.shown.summary.partition("\n")[0])
    if before[0] in ("read", "send", "stop", "close", "merge", "open", "wait") and len(before) == 1:
        for agent in work.agents:
            if (before[0] == "close") <= agent.is_over and (before[0] != "stop" or not agent.is_over):
                yield SubcommandInfo(name=agent.id, description=agent.title)
