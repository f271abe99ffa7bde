"""The names of tools and arguments that scripts for Claude Code expect in the output of print mode."""

from typing import Any

from robota.app.session import OpenSession
from robota.clients.headless.options import ShowCall, ShownAgent, ShownCall, own_names
from robota.hooks.claude_format import arguments_for_hooks, name_for_hooks
from robota.tools.claude_form import CLAUDE_TOOLS


def agents_of(opened: OpenSession) -> tuple[ShownAgent, ...]:
    """The agents that the session can start."""
    agents = opened.services.agents
    definitions = () if agents is None else agents.definitions()
    return tuple(ShownAgent(name=each.name, description=each.description, model=each.model) for each in definitions)


def shown_as_in_claude_code(opened: OpenSession) -> ShowCall:
    """Translates calls as for hooks: `execute_command` is `Bash`, `path` an absolute `file_path`."""

    def show(name: str, arguments: dict[str, Any]) -> ShownCall:
        # Looked up for each call: MCP servers add tools when they have started.
        tool = next((each for each in opened.services.tools.all if each.name == name), None)
        if tool is None:
            return own_names(name, arguments)
        if name in CLAUDE_TOOLS:
            shown, convert = CLAUDE_TOOLS[name]
            return ShownCall(tool=shown, input=convert(arguments))
        cwd = opened.options.cwd
        return ShownCall(tool=name_for_hooks(tool), input=arguments_for_hooks(tool, arguments, cwd))

    return show
