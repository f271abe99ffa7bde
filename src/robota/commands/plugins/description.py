"""Describes a plugin for the user, who decides about it, and for scripts: everything that could run."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from robota.app.knowledge.plugin_skills import skills_of
from robota.config.trust.change_text import change_lines
from robota.config.trust.lock_file import ChangedPart
from robota.contracts.agent import AgentDefinition
from robota.extensions.plugins.active import server_name
from robota.extensions.plugins.contents import PluginContents
from robota.extensions.plugins.store import DIGEST_SHOWN, InstalledPlugin
from robota.knowledge.agents.definition_file import agent_definition
from robota.knowledge.output_styles import OutputStyle, output_style
from robota.knowledge.skills.skill import SkillKind
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.extensions.plugins.installer import PluginCandidate

# Long enough for any command that is reasonable to read.
MAX_TEXT: Final = 4096
MAX_DESCRIPTION: Final = 300
MAX_PATHS: Final = 20


def heading_text(plugin: InstalledPlugin, contents: PluginContents) -> str:
    """Name, version, description, origin and digest."""
    version = f" {plugin.version}" if plugin.version else ""
    about = f": {contents.manifest.description}" if contents.manifest.description else ""
    commit = f", commit {plugin.commit[:DIGEST_SHOWN]}" if plugin.commit else ""
    author = f", by {contents.manifest.author}" if contents.manifest.author else ""
    where = f"From {single_line(plugin.origin.label, MAX_TEXT)}{commit}{author}. Digest {plugin.digest[:DIGEST_SHOWN]}."
    return f"{plugin.id}{version}{about}\n{where}"


def component_lines(plugin: InstalledPlugin, contents: PluginContents, root: Path) -> Iterator[str]:
    """A line for each component of the plugin."""
    for hook in contents.hooks:
        yield f"  hook: {single_line(hook.event)} ({single_line(hook.matcher or 'all')}) runs {_single_line(hook.runs)}"
    for name, entry in contents.servers.items():
        yield f"  MCP server: {single_line(server_name(plugin.name, name))} {_server_text(entry)}"
    for skill in skills_of(contents, plugin.name, root):
        kind = "skill" if skill.kind is SkillKind.SKILL else "command"
        allows = f" (pre-approves {_single_line(' '.join(skill.allowed_tools))})" if skill.allowed_tools else ""
        yield f"  {kind}: /{single_line(skill.name, 200)} {single_line(skill.description, MAX_DESCRIPTION)}{allows}"
    for style in _styles(contents, plugin.name):
        yield f"  output style: {style.name} {style.description}".rstrip()
    for agent in _agents(contents, plugin.name):
        tools = None if agent.tools is None else f"tools {', '.join(agent.tools) or 'none'}"
        wants = ", ".join(filter(None, (tools, agent.model and f"model {agent.model}")))
        about = f"{agent.description}{f' (wants {single_line(wants, MAX_DESCRIPTION)})' if wants else ''}"
        yield f"  agent: {agent.name} {about}".rstrip()
    if paths := [single_line(path, 200) for path in contents.other_files]:
        yield f"  other files, which may be run or read by the above: {_path_list(paths)}"


def note_lines(contents: PluginContents, left_out: Iterable[str] = ()) -> Iterator[str]:
    """Notes about parts of the plugin that are not used, and why."""
    if contents.unused:
        yield f"Robota does not use its {', '.join(contents.unused)}."
    if paths := [single_line(path, 200) for path in left_out]:
        yield f"Links, special files and odd names are not copied: {_path_list(paths)}."
    for problem in contents.problems:
        yield f"Note: {problem}."


def difference_lines(changes: Iterable[ChangedPart]) -> Iterator[str]:
    """The differences from what the user agreed to."""
    for change in changes:
        yield from (f"  {line}" for line in change_lines(change))


def plugin_json(plugin: InstalledPlugin, contents: PluginContents, root: Path) -> dict[str, Any]:
    """The whole description as JSON."""
    skills = skills_of(contents, plugin.name, root)
    return {
        "id": plugin.id,
        "version": plugin.version,
        "scope": plugin.scope,
        "origin": plugin.origin,
        "commit": plugin.commit,
        "digest": plugin.digest,
        "enabled": plugin.is_enabled,
        "description": contents.manifest.description,
        "hooks": contents.hooks,
        "mcpServers": {server_name(plugin.name, name): entry for name, entry in contents.servers.items()},
        "skills": [_named(skill.name, skill.description) for skill in skills if skill.kind is SkillKind.SKILL],
        "commands": [_named(skill.name, skill.description) for skill in skills if skill.kind is SkillKind.COMMAND],
        "outputStyles": [_named(style.name, style.description) for style in _styles(contents, plugin.name)],
        "agents": [_named(agent.name, agent.description) for agent in _agents(contents, plugin.name)],
        "otherFiles": contents.other_files,
        "unused": contents.unused,
        "problems": contents.problems,
    }


def _styles(contents: PluginContents, name: str) -> Iterator[OutputStyle]:
    return (output_style(each.relative, each.source.data or b"", name) for each in contents.output_styles)


def _agents(contents: PluginContents, name: str) -> Iterator[AgentDefinition]:
    return (agent_definition(each.relative, each.source.data or b"", name) for each in contents.agents)


def _path_list(paths: list[str]) -> str:
    more = f" and {len(paths) - MAX_PATHS} more" if len(paths) > MAX_PATHS else ""
    return ", ".join(paths[:MAX_PATHS]) + more


def _named(name: str, description: str) -> dict[str, str]:
    return {"name": name, "description": description}


def _single_line(text: str) -> str:
    return single_line(text, MAX_TEXT)


def _server_text(entry: Any) -> str:
    match entry:
        case {"command": str(command)}:
            words = entry.get("args")
            line = " ".join((command, *(map(str, words) if isinstance(words, list) else ())))
            given = entry.get("env")
            names = f" with {', '.join(map(str, given))}" if isinstance(given, dict) and given else ""
            return f"runs {_single_line(line)}{_single_line(names)}"
        case {"url": str(url)}:
            return f"at {_single_line(url)}"
    return "is not a valid entry"


def proposal_text(candidate: "PluginCandidate") -> str:
    """What the user is asked to agree to."""
    plugin, contents = candidate.plugin, candidate.contents
    lines = [heading_text(plugin, contents), "It contains:", *component_lines(plugin, contents, candidate.files)]
    lines += note_lines(contents, candidate.left_out)
    if candidate.replaces is not None:
        lines.append("Differences from what you agreed to:")
        lines += difference_lines(candidate.changes)
    return "\n".join(lines)
