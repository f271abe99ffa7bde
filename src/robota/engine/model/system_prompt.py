"""The system prompt and tools of a task. Kept as long as they fit, so that the provider's prompt cache holds.

In the template, a line that begins with `{?edit run}` is for sessions in which both conditions hold, `{?!attended}` for
those in which that one does not. A section of which no line is left goes with its heading.

The state of the session may change while a task runs; reminders tell the model, and the prompt stays as it was.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from robota.config.paths import repository_top
from robota.config.settings.schema import Completion
from robota.contracts.mentioned_tools import without_lines_about
from robota.contracts.tool import AnyTool, Effect, ToolGroup, ToolRole, names_with_role
from robota.contracts.workspace import CommandReach
from robota.engine.model.reply import CallFormat
from robota.engine.runtime.options import Options
from robota.engine.runtime.rights import definitions_of, narrowest_mode, refusal
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.calls import CallPurpose
from robota.protocol.conversation import TextBlock, Turn, UserTurn
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import ToolSpec
from robota.text.visible import printable_name
from robota.workspace.process.wrapped_command import COMMAND_SHELL

CONDITION: Final = re.compile(r"\{\?([a-z! ]+)\}")
HEADING: Final = "# "

MODE: Final = "Mode"
PERMISSIONS: Final = "Permission mode"
COMMANDS: Final = "Commands"
STATE_NOW: Final = "Session state now:"
REMINDER_OF_STATE: Final = f"<system-reminder>\n{STATE_NOW}\n"
MAX_HOSTS_NAMED: Final = 10
# What else would a model make of `.vscode` and the like in the output of `ls -a`?
PLACEHOLDERS: Final = "Protected names that do not exist, such as .vscode, may appear as empty directories."
_LINE: Final = re.compile(rf"^- ({MODE}|{PERMISSIONS}|{COMMANDS}): (.*)$", re.MULTILINE)

APPROVAL: Final = {
    True: "Whatever else reads, runs, changes or sends something needs the user's approval.",
    False: "Whatever else reads, runs, changes or sends something is refused, unless a rule of the user allows it.",
}
# Of commands, where a sandbox is wanted and none works.
UNCONFINED: Final = {
    True: "Commands need the user's approval, unless a rule of theirs allows them.",
    False: "Commands are refused, unless a rule of the user allows them.",
}
PERMISSION_TEXTS: Final = {
    PermissionMode.PLAN: "plan. Read-only: whatever might change or send something is refused. {plan}",
    PermissionMode.DEFAULT: "default. What only reads in the working directory runs freely. {approval}",
    PermissionMode.ACCEPT_EDITS: "acceptEdits. Reading and editing in the working directory run freely. {approval}",
    PermissionMode.CONFINED: "confined. Reading, editing and sandboxed commands in the working directory run freely. "
    "Commands cannot change installed packages. {approval}",
    PermissionMode.BYPASS: "bypassPermissions. Calls run without approval, except where a rule says otherwise.",
}
# Of the mode confined, where commands cannot be.
NOTHING_CONFINED: Final = (
    "confined. Reading and editing in the working directory run freely. Commands cannot be confined here. {approval}"
)

PLAN_IN_WORDS: Final = "Answer with a plan, which is carried out once the user has left plan mode."
PLAN_BY_CALL: Final = "End with {tool}, with which the user lets you carry the plan out."

ENDING: Final = {
    Completion.IMPLICIT: "A reply without a tool call ends your turn and is your answer.",
    Completion.EXPLICIT: "Every reply must call a tool. When the task is done, call attempt_completion.",
}
# For a subtask and an unattended run, by whether a question can be answered.
ASKING: Final = {
    True: "Ask the user only if you cannot go on without an answer.",
    False: "You cannot ask anybody.",
}
QUESTIONS: Final = "A question ends it until somebody answers: ask only if nothing useful can be done otherwise."

NO_TOOL_USED: Final = (
    "[ERROR] You did not use a tool in your previous response. Please call a tool now: attempt_completion if the task "
    "is done, ask_followup_question if you need more from the user, otherwise the tool for the next step. "
    "(This is an automated message; do not answer it in words.)"
)

REPLY_CUT: Final = (
    "[Your reply was cut off at the output limit. Continue exactly where it stopped; repeat nothing. Write a tool call "
    "that was cut off again in full, in smaller pieces if it is long.]"
)


class ModePrompt(msgspec.Struct, frozen=True, kw_only=True):
    """What goes with every request of a task: the system prompt, the tools, and the state that the prompt describes."""

    mode: str
    system: str
    specs: tuple[ToolSpec, ...]
    situation: Mapping[str, str]


def mode_prompt(runtime: TaskRuntime, call_format: CallFormat) -> ModePrompt:
    """For the mode that the task is in now."""
    services, options = runtime.services, runtime.options
    offered = _offered(runtime)
    names = {tool.name for tool in offered}
    specs = offered_specs(runtime)
    state = situation(runtime)
    own = options.launch.system_prompt
    base = own if own is not None else _default(runtime, offered, state)
    memory_section = "" if services.memory is None else services.memory.prompt_section(runtime.task_id)
    hook_section = "" if services.hooks.context is None else services.hooks.context.prompt_section()
    parts = (
        base,
        _style(options),
        agent_section(runtime),
        agents_section(runtime, names),
        hook_section,
        _instructions(runtime),
        memory_section,
        "" if services.knowledge is None else services.knowledge.prompt_section,
        call_format.instructions(specs),
        options.append_system_prompt or "",
    )
    system = "\n\n".join(part for part in parts if part)
    return ModePrompt(mode=runtime.mode, system=system, specs=specs, situation=state)


def offered_specs(runtime: TaskRuntime) -> tuple[ToolSpec, ...]:
    """The tools that are described in a request, without what their descriptions say of tools that it lacks."""
    names = {tool.name for tool in _offered(runtime)}
    lacking = {tool.name for tool in runtime.services.tools.all} - names
    return tuple(
        msgspec.structs.replace(spec, description=without_lines_about(lacking, spec.description))
        for spec in runtime.services.tools.specs
        if spec.name in names
    )


def agent_section(runtime: TaskRuntime) -> str:
    """The instructions in the definition of the agent."""
    definition = runtime.options.agent if runtime.agent is None else runtime.agent.definition
    return "" if definition is None or not definition.prompt else f"# Agent: {definition.name}\n\n{definition.prompt}"


def agents_section(runtime: TaskRuntime, offered: Set[str]) -> str:
    """The agents that can be started, where they can."""
    service = runtime.services.agents
    if service is None or not offered & names_with_role(runtime.services.tools.all, ToolRole.AGENTS):
        return ""
    lines = [f"- {each.name}: {each.description}" for each in service.definitions()]
    return "\n".join(("# Agents", "", *lines)) if lines else ""


def suits_mode(head: ModePrompt, runtime: TaskRuntime) -> bool:
    """Whether the task can continue with this prompt in its current mode: it contains all that the mode needs.

    Tools that the mode lacks are refused when they are called, and a reminder says so.
    """
    if head.mode == runtime.mode:
        return True
    has_tools = {tool.name for tool in _offered(runtime)} <= {spec.name for spec in head.specs}
    return has_tools and _instructions(runtime) in head.system


def _instructions(runtime: TaskRuntime) -> str:
    """The instruction files for the present mode."""
    instructions = runtime.services.instructions
    return "" if instructions is None else instructions.prompt_section(runtime.mode)


def _offered(runtime: TaskRuntime) -> tuple[AnyTool, ...]:
    """The tools of the mode, with one way to edit files: that of the model, unless the session lacks its tool.

    The tool that completes a task is offered only where a reply in words does not complete it, and those that present
    a plan or ask for another mode only where a user can allow it: in every permission mode, so that the prompt survives
    a change; an agent that nobody can answer has none for questions. One whose definition lets it only read stays like
    that, so it has no tools that do more. Tools that are not described are not offered either: many of MCP servers are
    left to a search, and a rule may forbid one.
    """
    services, options = runtime.services, runtime.options
    described = {spec.name for spec in services.tools.specs}
    tools = [tool for tool in services.tools.all if tool.name in described]
    form = services.model.info.edit_format
    has_own = any(tool.edit_format is form for tool in tools)
    only_reads = _only_reads(runtime)
    return tuple(
        tool
        for tool in tools
        if refusal(runtime, tool, None) is None
        and not (only_reads and tool.effects & {Effect.WRITE, Effect.NETWORK})
        and not (has_own and tool.edit_format not in (None, form))
        and not (tool.purpose is CallPurpose.COMPLETION and options.completion is Completion.IMPLICIT)
        and (tool.role is not ToolRole.PLANNER or runtime.can_present_plan)
        and not (tool.role is ToolRole.ASKER and runtime.is_subtask and not options.launch.attended)
        and (tool.role is not ToolRole.MODE_CHANGER or runtime.can_change_mode)
    )


def _only_reads(runtime: TaskRuntime) -> bool:
    """Whether the definition of an agent keeps the task from changing anything, whatever the session may do."""
    return any(each.permission_mode is PermissionMode.PLAN for each in definitions_of(runtime))


def _style(options: Options) -> str:
    """The output style, unless the user replaced the whole prompt."""
    if options.style is None or options.launch.system_prompt is not None:
        return ""
    return f"# Output style: {options.style.name}\n\n{options.style.text}"


def _default(runtime: TaskRuntime, offered: Sequence[AnyTool], state: Mapping[str, str]) -> str:
    options, modes = runtime.options, runtime.services.modes
    # Most modes are for changing something; the definition of the agent says what it is for.
    role = "" if _only_reads(runtime) else modes.roles.get(runtime.mode, "")
    return "\n".join(lines_for(_conditions(runtime, offered))).format(
        role=f" {role}" if role else "",
        asking=ASKING[options.launch.attended],
        questions=QUESTIONS,
        tools=_file_tools(offered),
        ending=ENDING[options.completion],
        cwd=printable_name(str(options.cwd)),
        repository=_repository(options.cwd),
        platform=sys.platform,
        date=date.today().isoformat(),
        mode=state[MODE],
        permissions=state[PERMISSIONS],
        commands=state.get(COMMANDS, ""),
        mode_tools=" and ".join(tool.name for tool in _mode_tools(offered)),
        modes="; ".join(f"{slug} ({modes.uses[slug].rstrip('.')})" for slug in _other_modes(runtime)),
    )


def _other_modes(runtime: TaskRuntime) -> Sequence[str]:
    """The modes besides that of the task that it, or a subtask, can have."""
    modes = runtime.services.modes
    others = [slug for slug in modes.roles if slug != runtime.mode]
    return [slug for slug in others if runtime.can_change_mode or not modes.goes_beyond(slug, runtime.mode)]


def _mode_tools(offered: Sequence[AnyTool]) -> Sequence[AnyTool]:
    """The tools that take the name of a mode."""
    tools = [tool for tool in offered if tool.role is ToolRole.MODE_CHANGER or tool.purpose is CallPurpose.SUBTASK]
    return sorted(tools, key=lambda tool: tool.role is not ToolRole.MODE_CHANGER)


def _conditions(runtime: TaskRuntime, offered: Sequence[AnyTool]) -> frozenset[str]:
    """The conditions that hold for lines of the template: what the mode can do, and whether a user attends."""
    # Every mode can read results that were too long, and none is about that.
    options, groups = runtime.options, {tool.group for tool in offered if tool.role is not ToolRole.OUTPUT_READER}
    holds = {
        "read": ToolGroup.READ in groups,
        "edit": ToolGroup.EDIT in groups,
        "run": any(tool.role is ToolRole.SHELL for tool in offered),
        "delegate": groups <= {ToolGroup.TASK},
        "coding": options.style is None or options.style.keeps_coding,
        "subtask": runtime.is_subtask,
        "attended": options.launch.attended,
        "modes": bool(_mode_tools(offered) and _other_modes(runtime)),
    }
    return frozenset(name for name, is_so in holds.items() if is_so)


def _file_tools(offered: Sequence[AnyTool]) -> str:
    """Which tools are for files, as far as the mode has them."""
    editor = next((tool.name for tool in offered if tool.edit_format is not None), None)
    does = "read, search and edit" if editor else "read and search"
    rather = ", not commands," if any(tool.role is ToolRole.SHELL for tool in offered) else ""
    change = f" Change existing files with {editor}." if editor else ""
    return f"Use the file tools{rather} to {does} files.{change}"


def _repository(cwd: Path) -> str:
    top = repository_top(cwd)
    if top is None:
        return "It is not in a git repository."
    return "It is the root of a git repository." if top == cwd else f"Git repository root: {printable_name(str(top))}."


@cache
def template() -> str:
    """The template of our part of the system prompt, from the file beside this one."""
    return Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()


@cache
def conditions() -> frozenset[str]:
    """All conditions that lines of the template have."""
    names = CONDITION.findall(template())
    return frozenset(word.removeprefix("!") for words in names for word in words.split())


def lines_for(holding: Set[str]) -> list[str]:
    """The lines of the template for a session in which these conditions hold; values are still names in braces."""
    sections = re.split(r"\n\n(?=# )", template())
    kept = [list(_kept(section, holding)) for section in sections]
    return "\n\n".join("\n".join(lines) for lines in kept if not _is_empty(lines)).split("\n")


def _kept(section: str, holding: Set[str]) -> Iterator[str]:
    for line in section.split("\n"):
        condition = CONDITION.match(line)
        if condition is None or all(_holds(word, holding) for word in condition[1].split()):
            yield line[condition.end() :] if condition else line


def _holds(word: str, holding: Set[str]) -> bool:
    return word.removeprefix("!") not in holding if word.startswith("!") else word in holding


def _is_empty(lines: list[str]) -> bool:
    return lines[0].startswith(HEADING) and not any(lines[1:])


def situation(runtime: TaskRuntime) -> dict[str, str]:
    """The present state, by label; what commands can reach only in a mode that can run some."""
    mode, attended, reach = narrowest_mode(runtime), runtime.options.launch.attended, runtime.services.reach.now
    is_unconfined = mode is PermissionMode.CONFINED and not reach.is_sandboxed
    permissions = NOTHING_CONFINED if is_unconfined else PERMISSION_TEXTS[mode]
    permissions = permissions.format(approval=APPROVAL[attended], plan=_plan_ending(runtime))
    state = {MODE: runtime.mode, PERMISSIONS: permissions}
    if _can_run(runtime):
        state[COMMANDS] = reach_text(reach, "" if mode is PermissionMode.BYPASS else UNCONFINED[attended])
    return state


def _plan_ending(runtime: TaskRuntime) -> str:
    """How the work in plan mode ends: with the tool for it, where it is offered."""
    services = runtime.services
    if runtime.agent is not None:
        return "Report what you found; whoever started you decides what is done."
    planners = names_with_role(services.tools.all, ToolRole.PLANNER) if runtime.can_present_plan else ()
    return next((PLAN_BY_CALL.format(tool=name) for name in planners), PLAN_IN_WORDS)


def reach_text(reach: CommandReach, unconfined: str) -> str:
    """Which shell runs commands and what they can reach, in words. `unconfined` is about them if no sandbox works."""
    shell = Path(COMMAND_SHELL).name
    if reach.lacks_sandbox:
        return f"{shell} without a sandbox, because none works here. {unconfined}".rstrip()
    if not reach.is_sandboxed:
        return f"{shell} without a sandbox, with network access."
    place = f"{shell} in a sandbox that can write only in the working directory and /tmp, {_network(reach.hosts)}."
    return f"{place} {PLACEHOLDERS}"


def state_text(state: Mapping[str, str]) -> str:
    """The text of a reminder of this state."""
    return "\n".join((STATE_NOW, *(f"- {label}: {text}" for label, text in state.items())))


def state_beside_prompt(runtime: TaskRuntime) -> str:
    """What the system prompt does not say of the present state; empty if it says all."""
    changed = {label: text for label, text in situation(runtime).items() if runtime.head.state.get(label) != text}
    return state_text(changed) if changed else ""


def told_state(turns: Iterable[Turn]) -> dict[str, str]:
    """The newest state by label that reminders in these turns told."""
    texts = (
        block.text
        for turn in turns
        if isinstance(turn, UserTurn)
        for block in turn.content
        if isinstance(block, TextBlock) and block.text.startswith(REMINDER_OF_STATE)
    )
    return {label: text for told in texts for label, text in _LINE.findall(told)}


def mode_change(runtime: TaskRuntime, offered: Sequence[ToolSpec]) -> str:
    """What another mode means for the model: its role, and which of the offered tools are refused in it."""
    services = runtime.services
    names = {spec.name for spec in offered}
    refused = [
        tool.name for tool in services.tools.all if tool.name in names and refusal(runtime, tool, None) is not None
    ]
    parts = (
        services.modes.roles.get(runtime.mode, ""),
        f"Refused in this mode: {', '.join(refused)}." if refused else "",
    )
    return "\n\n".join(part for part in parts if part)


def _can_run(runtime: TaskRuntime) -> bool:
    shells = (tool for tool in runtime.services.tools.all if tool.role is ToolRole.SHELL)
    return any(refusal(runtime, tool, None) is None for tool in shells)


def _network(hosts: tuple[str, ...] | None) -> str:
    if hosts is None:
        return "with network access"
    if not hosts:
        return "without network access"
    named = ", ".join(hosts[:MAX_HOSTS_NAMED])
    return f"and can connect only to {named}{' and others' if len(hosts) > MAX_HOSTS_NAMED else ''}"
