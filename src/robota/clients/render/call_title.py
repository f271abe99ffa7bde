"""A tool call as a person knows it again: the line that names it, and why it failed."""

import json
import re
from typing import Any, Final

from robota.protocol.events import ToolStart

LONGEST: Final = 80
HEAD: Final = 47
TAIL: Final = 30
MESSAGE: Final = re.compile(r'"message": ?"((?:[^"\\]|\\.)*)', re.DOTALL)
PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
# Of these calls only some arguments tell them apart, and a model may give any of them first.
TELLING: Final = {
    "write_to_file": ("path",),
    "edit_file": ("path",),
    "apply_diff": ("path",),
    "read_file": ("path",),
    "execute_command": ("command",),
    "web_fetch": ("url",),
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
    if event.tool == "apply_patch":
        return f"{name} {_shortened(', '.join(PATCHED.findall(str(event.input.get('patch')))))}".rstrip()
    told = _told(event.input, TELLING.get(event.tool, ())) or event.first_arg
    return f"{name} {told}".rstrip()


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
    return _shortened(" ".join(" ".join(str(arguments[key]).split()) for key in wanted if arguments.get(key)))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:HEAD]}...{text[-TAIL:]}"
