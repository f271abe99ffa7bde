"""A tool call as a person knows it again: the line that names it, and why it failed."""

import json
import re
from typing import Any, Final

from robota.protocol.events import ToolStart

LONGEST: Final = 80
MESSAGE: Final = re.compile(r'"message": ?"((?:[^"\\]|\\.)*)', re.DOTALL)
# Calls whose first argument is not what tells them apart.
TELLING: Final = {
    "search_files": ("regex", "path"),
    "new_task": ("message",),
    "background_process": ("action", "command", "id"),
    "ask_followup_question": ("question",),
}
NAMES: Final = {
    "update_todo_list": "Todo list",
    "new_task": "Subtask",
    "switch_mode": "Mode",
    "ask_followup_question": "Question",
    "attempt_completion": "Result",
}


def call_title(event: ToolStart) -> str:
    name = NAMES.get(event.tool, event.label)
    if event.tool == "update_todo_list":
        return name
    if event.tool not in TELLING:
        return f"{name} {event.first_arg}".rstrip()
    return f"{name} {_told(event.input, TELLING[event.tool])}".rstrip()


def error_in_words(result: str) -> str:
    """The message of a failed call's result, which is JSON for the model and may have been cut off."""
    message = MESSAGE.search(result) if result.startswith("{") else None
    if message is None:
        return result
    inside = message[1]
    try:
        return str(json.loads(f'"{inside}"'))
    except ValueError:
        return inside


def _told(arguments: dict[str, Any], wanted: tuple[str, ...]) -> str:
    text = " ".join(" ".join(str(arguments[key]).split()) for key in wanted if arguments.get(key))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
