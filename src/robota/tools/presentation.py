"""How a tool presents itself: its description for the model, and its question for the user."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.contracts.tool import Preview, Unseen
from robota.protocol.views import View
from robota.protocol.wire import Value

# A hook for edits must not miss one because the model used a different tool.
CLAUDE_CODE_EDITS: Final = ("Edit", "MultiEdit")


def description_beside(module_file: str) -> Callable[[], str]:
    """A reader for the `.md` twin of the module at `module_file`, which describes the tool to the model."""
    return lambda: Path(module_file).with_suffix(".md").read_text(encoding="utf-8").strip()


class DiffStats(Value, frozen=True, kw_only=True, omit_defaults=False):
    """How many lines a change adds and removes."""

    added: int
    removed: int


class SayTool(Value, frozen=True, kw_only=True):
    """The JSON inside the text of a `tool` ask, as the seed's clients read it.

    `tool` is the seed's word for the action, not the tool's id.
    """

    tool: str
    path: str | None = None
    content: str | None = None
    diff: str | None = None
    diff_stats: DiffStats | None = None
    mode: str | None = None
    reason: str | None = None
    start_line: int | None = None
    todos: tuple[dict[str, Any], ...] | None = None


def tool_ask(action: SayTool, view: View | None = None, unseen: Unseen | None = None) -> Preview:
    """The preview of a call that the user approves with yes or no."""
    return Preview(ask="tool", text=msgspec.json.encode(action).decode(), view=view, unseen=unseen)
