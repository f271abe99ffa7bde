"""The modes of a task (code, architect, ask …): which tools each may use, and on which files."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from robota.contracts.tool import AnyTool, ToolGroup, ToolRole, Touches


class ModeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of tools that a mode may use. `file_regex` limits it to some files, which `description` describes."""

    name: ToolGroup
    file_regex: str | None = None
    description: str | None = None


class TaskMode(msgspec.Struct, frozen=True, kw_only=True):
    """`role_definition` and `custom_instructions` go into the system prompt, `when_to_use` into the list of modes."""

    slug: str
    name: str
    role_definition: str
    groups: tuple[ModeGroup, ...]
    when_to_use: str | None = None
    description: str | None = None
    custom_instructions: str | None = None
    source: str = "built-in"


def _groups(*names: ToolGroup) -> tuple[ModeGroup, ...]:
    return tuple(ModeGroup(name=name) for name in names)


BUILT_IN: Final = (
    TaskMode(
        slug="code",
        name="Code",
        role_definition="You write, change and test code.",
        groups=_groups(ToolGroup.READ, ToolGroup.EDIT, ToolGroup.COMMAND, ToolGroup.MCP),
        when_to_use="Write, change or fix code.",
    ),
    TaskMode(
        slug="architect",
        name="Architect",
        role_definition="You explore the code, ask about what is unclear, and write a plan before anything is built.",
        groups=(
            ModeGroup(name=ToolGroup.READ),
            ModeGroup(name=ToolGroup.EDIT, file_regex=r"\.md$", description="Markdown files"),
            ModeGroup(name=ToolGroup.MCP),
        ),
        when_to_use="Plan and design before anything is built.",
    ),
    TaskMode(
        slug="ask",
        name="Ask",
        role_definition="You answer questions about code and technology, and change nothing.",
        groups=_groups(ToolGroup.READ, ToolGroup.MCP),
        when_to_use="Understand something without changing it.",
    ),
    TaskMode(
        slug="debug",
        name="Debug",
        role_definition="You find the cause of a fault step by step, prove it, and only then fix it.",
        groups=_groups(ToolGroup.READ, ToolGroup.EDIT, ToolGroup.COMMAND, ToolGroup.MCP),
        when_to_use="Find out why something does not work.",
    ),
    TaskMode(
        slug="orchestrator",
        name="Orchestrator",
        role_definition="You split large work into subtasks, give each to the mode that fits, and combine the results.",
        groups=(),
        when_to_use="Split work that is too large for one task.",
    ),
)


def known_modes(*layers: Iterable[TaskMode]) -> dict[str, TaskMode]:
    """The built-in modes and those of each layer, by slug. A later mode replaces an earlier one entirely."""
    return {mode.slug: mode for layer in (BUILT_IN, *layers) for mode in layer}


def allows(tool: AnyTool, mode: str, touches: Touches | None, modes: Mapping[str, TaskMode]) -> str | None:
    """Why a mode does not allow a tool, worded for the model, which is told apart what it can do; None if it does.

    Without `touches`, this only checks whether the mode includes the tool at all.
    """
    task_mode = modes.get(mode)
    if task_mode is None:
        return f"There is no mode {mode!r}. The modes are: {', '.join(modes)}."
    if tool.group is ToolGroup.TASK or tool.role is ToolRole.OUTPUT_READER:
        return None  # any result can be too long, so every mode can read the rest
    group = next((group for group in task_mode.groups if group.name is tool.group), None)
    if group is None:
        others = [slug for slug, each in modes.items() if any(group.name is tool.group for group in each.groups)]
        have_it = f" Modes that have it: {', '.join(others)}." if others else ""
        return f"{tool.name} is not available in {task_mode.name} mode. Nothing was run.{have_it}"
    if group.file_regex is None or touches is None:
        return None
    from robota.config.linear_pattern import fits_pattern

    kept_out = [path for path in touches.paths if not fits_pattern(group.file_regex, path)]
    if not kept_out and touches.paths:
        return None
    what = group.description or f"files matching {group.file_regex}"
    target = repr(kept_out[0]) if kept_out else "a file that the call does not name"
    return (
        f"{task_mode.name} mode cannot change {target}. It can change: {what}. Nothing was changed. Choose such a file."
    )


def goes_beyond(mode: str, other: str, modes: Mapping[str, TaskMode]) -> bool:
    """Whether tasks in one mode may do something that tasks in the other may not.

    A mode without tools exists to delegate work, so it can get anything done.
    """
    new, old = modes.get(mode), modes.get(other)
    if new is None or old is None:
        return True
    if not new.groups or not old.groups:
        return bool(old.groups)
    kept = {(group.name, group.file_regex) for group in old.groups}
    return not all({(group.name, group.file_regex), (group.name, None)} & kept for group in new.groups)


class TaskModes(msgspec.Struct, frozen=True):
    """The modes of a session, by slug."""

    modes: Mapping[str, TaskMode]

    @property
    def roles(self) -> Mapping[str, str]:
        """The role definition that the model gets in each mode."""
        return {slug: role_of(mode) for slug, mode in self.modes.items()}

    @property
    def uses(self) -> Mapping[str, str]:
        """When to use each mode."""
        return {slug: mode.when_to_use or mode.description or mode.name for slug, mode in self.modes.items()}

    def allows(self, tool: AnyTool, mode: str, touches: Touches | None) -> str | None:
        """Why a mode does not allow this use of a tool; None if it does."""
        return allows(tool, mode, touches, self.modes)

    def goes_beyond(self, mode: str, other: str) -> bool:
        """Whether tasks in one mode may do something that tasks in the other may not."""
        return goes_beyond(mode, other, self.modes)


def role_of(mode: TaskMode) -> str:
    """The role definition that the model gets in a mode, with the files that it is limited to."""
    limits = "".join(f" {_limit(group)}" for group in mode.groups if group.file_regex is not None)
    return "\n\n".join(part for part in (mode.role_definition + limits, mode.custom_instructions) if part)


def _limit(group: ModeGroup) -> str:
    what = group.description or f"files that match {group.file_regex}"
    return f"In this mode, the {group.name} tools are limited to {what}."
