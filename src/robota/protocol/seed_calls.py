"""Calls as the seed's rows tell them: in JSON with its own names of actions. Logs of older versions tell no more."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from robota.protocol.message import Message
from robota.protocol.unified_diff import parts_in
from robota.protocol.views import DiffHunk, DiffsView, DiffView, TerminalView, View

CALL_ASKS: Final = frozenset({"command", "tool", "use_mcp_server"})
CALL_SAYS: Final = frozenset({"tool", "mcp_server_request_started"})
COMMAND: Final = "executeCommand"
# How an action is called on the screen, and the fields that its title tells.
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
    """Whether the row tells of a call that was made: it needed no approval, or somebody has decided about it."""
    return (row.ask in CALL_ASKS and bool(row.is_answered)) if row.type == "ask" else row.say in CALL_SAYS


def title_in(row: Message) -> str:
    """The line by which a person knows the call of a row again."""
    told = _told(row)
    name = str(told.get("tool", row.ask or ""))
    if name == "listFilesRecursive" and told.get("content"):
        return f"Glob {told['content']}"
    if "serverName" in told:
        return f"mcp--{told['serverName']}--{told.get('toolName') or told.get('uri', '')}"
    if name not in TITLES:
        first = next((value for key, value in told.items() if key != "tool" and isinstance(value, str)), "")
        return f"{name} {first}".rstrip()
    label, *fields = TITLES[name]
    return " ".join([label, *(str(told[field]) for field in fields if told.get(field))])


def view_in_row(row: Message) -> View | None:
    """What the row shows of its call: a command, or what it changes."""
    asked = getattr(row.asked, "view", None)
    if isinstance(asked, DiffView | DiffsView):
        return asked
    told = _told(row)
    if told.get("tool") == COMMAND:
        return TerminalView(command=str(told.get("command", "")), output="")
    diff = told.get("diff")
    return _changes(diff, told) if isinstance(diff, str) else None


def diff_in(row: Message) -> str | None:
    """What the call of a row changes, as a unified diff."""
    diff = _told(row).get("diff")
    return diff if isinstance(diff, str) else None


def _changes(diff: str, told: Mapping[str, Any]) -> View | None:
    parts = parts_in(diff)
    views = [
        DiffView(path=head.partition(": ")[2], added=_count(hunks, "add"), removed=_count(hunks, "remove"), hunks=hunks)
        for head, hunks in parts
    ]
    if len(views) != 1:
        return DiffsView(files=tuple(views)) if views else None
    stats = told.get("diffStats")
    counts = {name: value for name, value in stats.items() if isinstance(value, int)} if isinstance(stats, dict) else {}
    return DiffView(
        path=str(told.get("path", "")),
        added=counts.get("added", views[0].added),
        removed=counts.get("removed", views[0].removed),
        hunks=views[0].hunks,
        is_new=told.get("tool") == "newFileCreated",
    )


def _count(hunks: Iterable[DiffHunk], kind: str) -> int:
    return sum(line.kind == kind for hunk in hunks for line in hunk.lines)


def _told(row: Message) -> dict[str, Any]:
    """What the row says of the call: of most it is JSON, of a command that was asked about the command itself."""
    if row.ask == "command":
        return {"tool": COMMAND, "command": row.text or ""}
    try:
        told = msgspec.json.decode(row.text or "")
    except (msgspec.DecodeError, RecursionError):
        told = None
    return told if isinstance(told, dict) else {"tool": row.text or ""}
