"""What a task may do: nothing that a task above it may not.

Everything is computed when it is used, along the path to the task of the user, so that a change above applies at once
to whatever runs below. Agents cannot widen anything: neither their definition nor a skill of theirs counts unless it
narrows.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from robota.contracts.agent import AgentDefinition, AgentPlace
from robota.contracts.tool import AnyTool, ToolRole, Touches, names_with_role
from robota.contracts.verdict import Decision, Verdict
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.calls import CallPurpose
from robota.protocol.permission_mode import PermissionMode

# From the narrowest to the widest.
WIDTH: Final = (
    PermissionMode.PLAN,
    PermissionMode.DEFAULT,
    PermissionMode.ACCEPT_EDITS,
    PermissionMode.CONFINED,
    PermissionMode.BYPASS,
)
NO_AGENTS: Final = "No agents can be started here. Do the work yourself."
OTHER_MODE: Final = "Ask for another mode with {}, or continue without this call."
NO_OTHER_MODE: Final = "Continue without this call, and say in your answer what you could not do."
STRICTNESS: Final = {Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}


def path_of(runtime: TaskRuntime) -> Iterator[TaskRuntime]:
    """The task, the one that started it, and so on up to the task of the user."""
    above: TaskRuntime | None = runtime
    while above is not None:
        yield above
        above = above.parent


def definitions_of(runtime: TaskRuntime) -> tuple[AgentDefinition, ...]:
    """The definitions of the agents on the path, and of the one that the session works as."""
    own = (each.agent.definition for each in path_of(runtime) if each.agent is not None)
    place: AgentPlace | None = runtime.options.launch.place
    return (*own, *(() if place is None else place.above), *filter(None, (runtime.options.agent,)))


def depth_of(runtime: TaskRuntime) -> int:
    """How many agents are on the path, those in processes above included."""
    place: AgentPlace | None = runtime.options.launch.place
    above = 0 if place is None else place.identity.depth - 1
    return above + sum(each.agent is not None for each in path_of(runtime))


def permission_modes(runtime: TaskRuntime) -> tuple[PermissionMode, ...]:
    """The permission modes that limit a task: that of the session, and those of the agents on the path."""
    own = (each.permission_mode for each in definitions_of(runtime) if each.permission_mode is not None)
    return tuple(dict.fromkeys((runtime.permission_mode, *own)))


def narrowest_mode(runtime: TaskRuntime) -> PermissionMode:
    """The permission mode as the model sees it."""
    return min(permission_modes(runtime), key=WIDTH.index)


def denials_of(runtime: TaskRuntime) -> tuple[str, ...]:
    """The temporary deny rules of the task and of everything above it."""
    place: AgentPlace | None = runtime.options.launch.place
    above = () if place is None else place.denied
    return tuple(dict.fromkeys((*above, *(rule for each in path_of(runtime) for rule in each.turn_denials))))


def grants_of(runtime: TaskRuntime) -> tuple[str, ...]:
    """The rules granted for the session and for this turn. Below an agent, a skill grants only what all above have.

    What the tasks above an agent in a process of its own have is not known there, so a skill grants nothing.
    """
    turn = tuple(runtime.turn_grants) if runtime.options.launch.place is None else ()
    if definitions_of(runtime):
        turn = tuple(rule for rule in turn if all(rule in each.turn_grants for each in path_of(runtime)))
    return (*runtime.grants, *turn)


def strictest(runtime: TaskRuntime, judge: Callable[[PermissionMode], Verdict]) -> Verdict:
    """The strictest verdict of all permission modes on the path."""
    verdicts = [judge(mode) for mode in permission_modes(runtime)]
    return max(verdicts, key=lambda verdict: STRICTNESS[verdict.decision])


def refusal(runtime: TaskRuntime, tool: AnyTool, touches: Touches | None) -> str | None:
    """Why the task may not use a tool at all, or not for this: its mode, and the agents on the path."""
    services = runtime.services
    for mode in _modes(runtime):
        if (reason := services.modes.allows(tool, mode, touches)) is not None:
            return f"{reason} {_about_other_modes(runtime)}"
    for definition in definitions_of(runtime):
        if not _has_tool(definition, tool):
            return f"The agent {definition.name} may not use {tool.name}. Continue without it."
    if tool.role is ToolRole.AGENTS and not may_start_agents(runtime):
        return NO_AGENTS
    return None


def _about_other_modes(runtime: TaskRuntime) -> str:
    names = names_with_role(runtime.services.tools.all, ToolRole.MODE_CHANGER) if runtime.can_change_mode else ()
    return next((OTHER_MODE.format(name) for name in names), NO_OTHER_MODE)


def may_start_agents(runtime: TaskRuntime) -> bool:
    """Whether the task is not too deep to start agents."""
    service = runtime.services.agents
    return service is not None and depth_of(runtime) < service.max_depth


def _modes(runtime: TaskRuntime) -> Sequence[str]:
    """The mode of the task, and those of the tasks that started agents on the path. A subtask may have another mode
    than its parent, because the user approved that."""
    above = [each.parent.mode for each in path_of(runtime) if each.agent is not None and each.parent is not None]
    place: AgentPlace | None = runtime.options.launch.place
    return tuple(dict.fromkeys((runtime.mode, *above, *(() if place is None else place.modes))))


def _has_tool(definition: AgentDefinition, tool: AnyTool) -> bool:
    names = _names(tool)
    if names.intersection(map(_bare, definition.disallowed_tools)):
        return False
    if definition.tools is None or tool.role is ToolRole.OUTPUT_READER or tool.purpose is CallPurpose.COMPLETION:
        return True
    return bool(names.intersection(map(_bare, definition.tools)))


def _names(tool: AnyTool) -> frozenset[str]:
    """Every name of a tool, in lower case: in files for other agents, too."""
    server = (tool.name.rpartition("__")[0],) if tool.name.startswith("mcp__") else ()
    return frozenset(name.lower() for name in (*tool.every_name, *server))


def _bare(written: str) -> str:
    """The name of a tool without the rule in parentheses."""
    return written.partition("(")[0].strip().lower()
