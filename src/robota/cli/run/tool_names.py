"""The names of tools and arguments that scripts for Claude Code expect in the output of print mode."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from robota.app.session import OpenSession
from robota.clients.headless.options import ShowCall, ShownAgent, ShownCall, own_names
from robota.hooks.claude_format import arguments_for_hooks, name_for_hooks

Arguments = dict[str, Any]


def _todos(arguments: Arguments) -> Arguments:
    """A checklist as objects."""
    from robota.contracts.tool import ToolError
    from robota.tools.task.checklist import parse_checklist

    written = arguments.get("todos", "")
    try:
        items = parse_checklist(written)
    except (ToolError, AttributeError):
        return arguments  # the model wrote something else, which is refused
    return {"todos": [{"content": each.content, "status": each.status, "activeForm": each.content} for each in items]}


def _questions(arguments: Arguments) -> Arguments:
    """A question with its suggested answers as the only one of a list."""
    offered = arguments.get("follow_up")
    if "questions" in arguments:
        return arguments  # written like this by the model
    answers = [each.get("text", "") for each in offered if isinstance(each, dict)] if isinstance(offered, list) else []
    options = [{"label": answer, "description": ""} for answer in answers]
    question = str(arguments.get("question", ""))
    return {"questions": [{"question": question, "header": "Question", "options": options, "multiSelect": False}]}


def _unchanged(arguments: Arguments) -> Arguments:
    return arguments


# Tools whose own names are not those of Claude Code, with what becomes of their arguments.
CLAUDE_TOOLS: Final[Mapping[str, tuple[str, Callable[[Arguments], Arguments]]]] = {
    "update_todo_list": ("TodoWrite", _todos),
    "ask_followup_question": ("AskUserQuestion", _questions),
    "present_plan": ("ExitPlanMode", _unchanged),
    "agent_send": ("SendMessage", _unchanged),
    "agent_stop": ("TaskStop", lambda arguments: {"task_id": arguments.get("id", "")}),
}


def agents_of(opened: OpenSession) -> tuple[ShownAgent, ...]:
    """The agents that the session can start."""
    agents = opened.services.agents
    definitions = () if agents is None else agents.definitions()
    return tuple(ShownAgent(name=each.name, description=each.description, model=each.model) for each in definitions)


def shown_as_in_claude_code(opened: OpenSession) -> ShowCall:
    """Translates calls as for hooks: `execute_command` is `Bash`, `path` an absolute `file_path`."""

    def show(name: str, arguments: Arguments) -> ShownCall:
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
