"""Calls in the form of Claude Code, for tools that have another name there or other arguments."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from robota.contracts.tool import ToolError
from robota.tools.task.checklist import parse_checklist

Arguments = dict[str, Any]


def _todos(arguments: Arguments) -> Arguments:
    """A checklist as objects."""
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
