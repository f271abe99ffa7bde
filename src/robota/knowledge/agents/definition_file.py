"""Reads agent definitions (`agents/NAME.md`) in the format of Claude Code: front matter, then its instructions."""

from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from robota.contracts.agent import AgentDefinition, Isolation
from robota.knowledge.fields import Fields
from robota.knowledge.front_matter import read_front_matter
from robota.protocol.permission_mode import PermissionMode
from robota.text.visible import LINES_AND_TABS, SPACES, single_line, visible

MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 300
MAX_BYTES: Final = 64 * 1024
ALL_TOOLS: Final = ("*", "all")
# What Claude Code calls modes that Robota has under another name, or treats like another.
OTHER_MODES: Final = {"dontAsk": PermissionMode.DEFAULT, "auto": PermissionMode.DEFAULT}
# Fields of other agents that Robota does not use, each with the reason.
WITHOUT_EFFECT: Final = {
    "color": "agents are shown without colours of their own",
    "mcpServers": "an agent has the MCP servers of the session",
    "hooks": "only the hooks of the session run",
    "memory": "an agent has the memory of the session",
    "effort": "the effort of the session applies",
}
# Fields that a plugin may not decide, because its agents could do more than the user agreed to.
NOT_BY_PLUGINS: Final = ("permissionMode",)


def agent_definition(path: str, data: bytes, plugin: str = "") -> AgentDefinition:
    """Read an agent from its file. Never raises: what cannot be read is named in `ignored`.

    The name defaults to that of the file; that of a plugin's agent is `plugin:name`.
    """
    matter = read_front_matter(data[:MAX_BYTES].decode("utf-8", "backslashreplace").replace("\r\n", "\n"))
    fields = Fields(matter.fields)
    name = single_line(fields.text("name"), MAX_NAME) or single_line(PurePosixPath(path).stem, MAX_NAME)
    definition = _defined(f"{plugin}:{name}" if plugin else name, fields, matter.text, plugin)
    problems = () if matter.problem is None else (matter.problem,)
    return msgspec.structs.replace(definition, source=path, ignored=(*problems, *definition.ignored))


def agent_of_program(name: str, given: dict[str, Any]) -> AgentDefinition:
    """An agent as a program defines it: the same fields, and its instructions as `prompt`. Never raises."""
    rest = {key: value for key, value in given.items() if key != "prompt" and value is not None}
    prompt = given.get("prompt")
    return _defined(single_line(name, MAX_NAME), Fields(rest), prompt if isinstance(prompt, str) else "")


def _defined(name: str, fields: Fields, prompt: str, plugin: str = "") -> AgentDefinition:
    definition = AgentDefinition(
        name=name,
        description=single_line(fields.text("description"), MAX_DESCRIPTION),
        prompt=visible(prompt.strip(), LINES_AND_TABS | SPACES),
        tools=_tools(fields),
        disallowed_tools=fields.words("disallowedTools"),
        model=_model(fields),
        permission_mode=None if plugin else _permission_mode(fields),
        max_turns=fields.number("maxTurns"),
        background=fields.flag("background", default=False),
        isolation=_isolation(fields),
        skills=fields.words("skills"),
        initial_prompt=fields.text("initialPrompt"),
    )
    return msgspec.structs.replace(definition, ignored=(*fields.invalid, *_without_effect(fields, plugin)))


def _tools(fields: Fields) -> tuple[str, ...] | None:
    """The tools that it is limited to; None if the field is missing or names all. An empty list means none."""
    words = fields.words("tools")
    is_missing = fields.take("tools") is None or any(word.lower() in ALL_TOOLS for word in words)
    return None if is_missing else words


def _model(fields: Fields) -> str | None:
    name = fields.text("model")
    return None if name in ("", "inherit") else name


def _isolation(fields: Fields) -> Isolation:
    written = fields.text("isolation")
    if written in (*Isolation, ""):
        return Isolation(written or Isolation.NONE)
    # It was meant to keep the files of the session apart from what the agent does.
    fields.invalid.append(f"the isolation {written!r} is not known, so a worktree is used")
    return Isolation.WORKTREE


def _permission_mode(fields: Fields) -> PermissionMode | None:
    written = fields.text("permissionMode")
    if not written:
        return None
    if written in OTHER_MODES:
        return OTHER_MODES[written]
    try:
        return PermissionMode(written)
    except ValueError:
        # It was meant to limit the agent, so it must not have more rights than usual.
        fields.invalid.append(f"the permissionMode {written!r} is not known, so every call needs approval")
        return PermissionMode.DEFAULT


def _without_effect(fields: Fields, plugin: str) -> tuple[str, ...]:
    reasons = dict(WITHOUT_EFFECT)
    if plugin:
        reasons |= {key: "an agent of a plugin cannot set it" for key in NOT_BY_PLUGINS}
    unread = (key for key in fields.fields if key not in fields.read)
    return tuple(f"{key} has no effect: {reasons.get(key, 'it is not known')}" for key in sorted(unread))
