"""The JSON inside the text of a `tool` ask, as the seed's clients read it."""

from typing import Any

import msgspec

from robota.contracts.tool import Preview
from robota.protocol.views import View
from robota.protocol.wire import Value


class DiffStats(Value, frozen=True, kw_only=True, omit_defaults=False):
    added: int
    removed: int


class SayTool(Value, frozen=True, kw_only=True):
    """What a tool is about to do; `tool` is the seed's word for the action, not the tool's id."""

    tool: str
    path: str | None = None
    content: str | None = None
    diff: str | None = None
    diff_stats: DiffStats | None = None
    mode: str | None = None
    reason: str | None = None
    start_line: int | None = None
    todos: tuple[dict[str, Any], ...] | None = None


def tool_ask(action: SayTool, view: View | None = None) -> Preview:
    """The preview of a call that a person approves with yes or no."""
    return Preview(ask="tool", text=msgspec.json.encode(action).decode(), view=view)
