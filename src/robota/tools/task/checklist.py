"""A todo list as the model writes it: a Markdown checklist in one string."""

import re
from typing import Any

import msgspec

from robota.contracts.tool import ToolError
from robota.protocol.message import TodoItem

ITEM = re.compile(r"^(?:-\s*)?\[\s*([ xX\-~])\s*\]\s+(.+)$")
STATUS = {"x": "completed", "X": "completed", "-": "in_progress", "~": "in_progress", " ": "pending"}


def parse_checklist(text: str) -> tuple[TodoItem, ...]:
    """The items in order; other lines are ignored."""
    matches = (ITEM.match(line.strip()) for line in text.splitlines())
    items = tuple(TodoItem(content=match[2].strip(), status=STATUS[match[1]]) for match in matches if match)
    if text.strip() and not items:
        raise ToolError(
            "No todo item was found, so the list was not changed. Write one item a line: "
            "'[ ] pending', '[-] in progress' or '[x] completed'."
        )
    return items


def as_rows(items: tuple[TodoItem, ...]) -> tuple[dict[str, Any], ...]:
    """The items as plain JSON objects."""
    return tuple(msgspec.to_builtins(item) for item in items)
