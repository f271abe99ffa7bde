"""Calls as the seed's rows describe them: JSON with its own names of actions.

Logs of older versions contain nothing else.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from robota.protocol.message import Message
from robota.protocol.unified_diff import parts_in
from robota.protocol.views import DiffHunk, DiffsView, DiffView, TerminalView, View

CALL_ASKS: Final = frozenset({"command", "tool", "use_mcp_server"})
CALL_SAYS: Final = frozenset({"tool", "mcp_server_request_started"})
COMMAND: Final = "executeCommand"
# The name of an action on the screen, and the fields in its title.
TITLES: Final[Mapping[str, tuple[str, ...]]] = {
    "readFile": ("Read", "path"),
    "listFilesTopLevel": ("List", "path"),
    "listFilesRecursive": ("List", "path"),
    "searchFiles": ("Grep", "content", "path"),
    "appliedDiff": ("Edit", "path"),
    "editedExistingFile": ("Edit", "path"),
    "newFileCreated": ("Write", "path"),
    "updateTodoList": ("Todo list",),
    "switchMode": ("Mode", "mode"),
    "newTask": ("Subtask", "content"),
    COMMAND: ("Bash", "command"),
}


def is_call_row(row: Message) -> bool:
    """Whether the row is about a call that was made: it needed no approval, or has been decided."""
    return (row.ask in CALL_ASKS and bool(row.is_answered)) if row.type == "ask" else row.say in CALL_SAYS


def title_in(row: Message) -> str:
    """The line by which a user knows the call of a row again."""
    content = _content(row)
    name = str(content.get("tool", row.ask or ""))
    if name == "listFilesRecursive" and content.get("content"):
        return f"Glob {content['content']}"
    if "serverName" in content:
        return f"mcp--{content['serverName']}--{content.get('toolName') or content.get('uri', '')}"
    if name not in TITLES:
        first = next((value for key, value in content.items() if key != "tool" and isinstance(value, str)), "")
        return f"{name} {first}".rstrip()
    label, *fields = TITLES[name]
    return " ".join([label, *(str(content[field]) for field in fields if content.get(field))])


def view_in_row(row: Message) -> View | None:
    """What the row shows of its call: a command, or what it changes."""
    asked = getattr(row.asked, "view", None)
    if isinstance(asked, DiffView | DiffsView):
        return asked
    content = _content(row)
    if content.get("tool") == COMMAND:
        return TerminalView(command=str(content.get("command", "")), output="")
    diff = content.get("diff")
    return _changes(diff, content) if isinstance(diff, str) else None


def diff_in(row: Message) -> str | None:
    """What the call of a row changes, as a unified diff."""
    diff = _content(row).get("diff")
    return diff if isinstance(diff, str) else None


def _changes(diff: str, content: Mapping[str, Any]) -> View | None:
    parts = parts_in(diff)
    views = [
        DiffView(path=head.partition(": ")[2], added=_count(hunks, "add"), removed=_count(hunks, "remove"), hunks=hunks)
        for head, hunks in parts
    ]
    if len(views) != 1:
        return DiffsView(files=tuple(views)) if views else None
    stats = content.get("diffStats")
    counts = {name: value for name, value in stats.items() if isinstance(value, int)} if isinstance(stats, dict) else {}
    return DiffView(
        path=str(content.get("path", "")),
        added=counts.get("added", views[0].added),
        removed=counts.get("removed", views[0].removed),
        hunks=views[0].hunks,
        is_new=content.get("tool") == "newFileCreated",
    )


def _count(hunks: Iterable[DiffHunk], kind: str) -> int:
    return sum(line.kind == kind for hunk in hunks for line in hunk.lines)


def _content(row: Message) -> dict[str, Any]:
    """What the row says of the call: of most it is JSON, of a command that was asked about the command itself."""
    if row.ask == "command":
        return {"tool": COMMAND, "command": row.text or ""}
    try:
        content = msgspec.json.decode(row.text or "")
    except (msgspec.DecodeError, RecursionError):
        content = None
    return content if isinstance(content, dict) else {"tool": row.text or ""}
