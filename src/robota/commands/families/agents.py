"""The verbs of agents: which ones there are, and what their files say."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

import msgspec

from robota.app.agents import agent_definitions
from robota.app.extensions import session_plugins
from robota.app.tool_call import session_for_calls
from robota.commands.families.skills import write_new
from robota.commands.verb import (
    FAILED,
    Answer,
    Family,
    NoArguments,
    ReadingVerb,
    ShellVerb,
    Verb,
    VerbFailed,
    always,
    raw,
    table,
    told,
)
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.paths import user_directory
from robota.config.settings.load import load_settings
from robota.contracts.agent import AgentDefinition
from robota.engine.calls.single_call import call_once
from robota.knowledge.skills.skill import is_usable_name
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.slash_commands import SubcommandInfo
from robota.text.visible import single_line, visible

COLUMNS: Final = ("NAME", "MODEL", "TOOLS", "DESCRIPTION")
BUILT_IN: Final = "built in"
NEW: Final = """---
name: {name}
description: What it does, and when to start it.
tools: Read, Grep, Glob
---
Instructions for the agent. It sees these, its task and the instruction files of the project, but not the conversation
of whoever starts it. Its last reply is its report.
"""


def _names(host: VerbHost) -> Iterable[SubcommandInfo]:
    return (SubcommandInfo(name=agent.name, description=agent.description) for agent in _load(host))


class OneAgent(msgspec.Struct, frozen=True):
    """An agent."""

    name: Annotated[str, Positional("NAME", "its name", _names)]


class NewAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent to create."""

    name: Annotated[str, Positional("NAME", "name of the agent")]
    user: Annotated[bool, Option("for all your projects, not only this one")] = False


class MergeAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent whose changes are brought in."""

    agent: Annotated[str, Positional("AGENT", "its session, the beginning of it, or the name of its worktree")]
    paths: Annotated[tuple[str, ...], Positional("FILE", "only these of its files")] = ()
    yes: Annotated[bool, Option("do not ask", also=("-y",))] = False


async def _merge(host: VerbHost, args: MergeAgent) -> Answer:
    from robota.commands.agents.merging import patch_of, patch_tool, shown_merge
    from robota.commands.agents.worktrees import worktree_of

    worktree = worktree_of(host, args.agent)
    launch = msgspec.structs.replace(host.launch, permission_mode=PermissionMode.ACCEPT_EDITS)
    async with session_for_calls(launch, host.env, f"merge {args.agent}") as opened:
        patch = await patch_of(worktree, host.root, opened.services.files.for_call(), host.env, args.paths)
        if not patch.text:
            return told(f"There is nothing to bring in. {patch.remarks}".strip(), {"files": [], "left": patch.left_out})
        if not args.yes and not host.ask(shown_merge(patch), "Bring these changes in?", default=False):
            return told(f"Nothing was changed. To bring them in: robota agents merge {args.agent} --yes", ok=False)
        executed = await call_once(
            opened.options, opened.services, patch_tool(opened.services.tools.all), {"patch": patch.text}
        )
    if executed.status != "success":
        raise VerbFailed(f"Nothing was changed: {executed.reason or executed.result.content}")
    names = ", ".join(patch.files)
    return told(f"Brought in: {names}. {patch.remarks}".strip(), {"files": patch.files, "left": patch.left_out})


def _load(host: VerbHost) -> tuple[AgentDefinition, ...]:
    settings = load_settings(host.root, host.env)
    if not settings.is_trusted:
        host.tell(f"{host.root} is not trusted, so its agents are ignored: robota trust")
    plugins, _ = session_plugins(settings, host.root, host.env)
    return agent_definitions(settings, plugins, host.root, host.env)


def _list(host: VerbHost, _: NoArguments) -> Answer:
    agents = _load(host)
    return table(COLUMNS, map(_row, agents), [_as_json(agent) for agent in agents])


def _show(host: VerbHost, args: OneAgent) -> Answer:
    agent = next((each for each in _load(host) if each.name.lower() == args.name.lower()), None)
    if agent is None:
        raise VerbFailed(f"There is no agent {args.name}. To list them: robota agents list")
    lines = [
        single_line(agent.source, 4096) or BUILT_IN,
        f"tools: {_tools(agent)}",
        f"model: {agent.model or 'that of the session'}",
        f"permission mode: at most {agent.permission_mode or 'that of the session'}",
        *(f"ignored: {single_line(each, 1000)}" for each in agent.ignored),
        "",
        visible(agent.prompt),
    ]
    return raw("\n".join(lines).rstrip(), {**_as_json(agent), "prompt": agent.prompt})


def _validate(host: VerbHost, _: NoArguments) -> Answer:
    agents = _load(host)
    wrong = [agent for agent in agents if agent.ignored]
    lines = [f"{single_line(agent.source, 4096)}: {single_line('; '.join(agent.ignored), 1000)}" for agent in wrong]
    lines.append(f"{len(agents)} found, {len(wrong)} with fields that have no effect.")
    return told("\n".join(lines), [_as_json(agent) for agent in wrong], ok=not wrong)


def _new(host: VerbHost, args: NewAgent) -> Answer:
    if not is_usable_name(args.name):
        raise VerbFailed(f"{args.name!r} is not a valid name. Nothing was written.")
    above = user_directory(host.env) if args.user else host.root / ".robota"
    path = above / "agents" / f"{args.name}.md"
    write_new(path, NEW.format(name=args.name), None if args.user else host.root)
    trust = "" if args.user else " agree to it with robota trust,"
    text = f"{path} was written. Edit it,{trust} then start a session: its model can start the agent."
    return told(text, {"path": str(path)})


def _row(agent: AgentDefinition) -> tuple[str, ...]:
    return (agent.name, agent.model or "", single_line(_tools(agent), 60), single_line(agent.description, 200))


def _tools(agent: AgentDefinition) -> str:
    allowed = "all" if agent.tools is None else ", ".join(agent.tools) or "none"
    return f"{allowed} except {', '.join(agent.disallowed_tools)}" if agent.disallowed_tools else allowed


def _as_json(agent: AgentDefinition) -> dict[str, Any]:
    return {
        "name": agent.name,
        "description": agent.description,
        "path": agent.source or None,
        "tools": agent.tools,
        "disallowedTools": agent.disallowed_tools,
        "model": agent.model,
        "permissionMode": agent.permission_mode,
        "maxTurns": agent.max_turns,
        "background": agent.background,
        "ignored": agent.ignored,
    }


FAMILY: Final = Family(
    name="agents",
    about="Manage the agents of the project and your own.",
    description="list, show, create and validate agents",
    default="list",
    explain=always(FAILED),
    verbs=(
        ReadingVerb("list", "list the agents that can be started", NoArguments, _list),
        ReadingVerb("show", "print what an agent may do, and its instructions", OneAgent, _show),
        ReadingVerb("validate", "report fields of agent files that have no effect", NoArguments, _validate),
        Verb("new", "create a new one from a template", NewAgent, _new),
        ShellVerb(
            "merge",
            "bring in what an agent changed in its worktree",
            MergeAgent,
            _merge,
            reason="there it is /agent merge, whose changes are approved like those of the model",
        ),
    ),
)
