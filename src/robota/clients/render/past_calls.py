"""Calls of a conversation that was led before, made again from its rows, so that they look as they looked."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from robota.clients.render.unified_diff import files_in
from robota.clients.view.model import LiveTool
from robota.protocol.message import Message
from robota.protocol.views import DiffView, TerminalView, View

CALL_ASKS: Final = frozenset({"command", "tool", "use_mcp_server"})
CALL_SAYS: Final = frozenset({"tool", "mcp_server_request_started"})
COMMAND: Final = "executeCommand"
# The seed's names of calls in rows: how they are called on the screen, and the fields that their title tells.
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
    """Whether the row tells of a call that was made."""
    return (row.ask in CALL_ASKS and bool(row.is_answered)) if row.type == "ask" else row.say in CALL_SAYS


def past_call(row: Message, rows: Sequence[Message] = ()) -> LiveTool:
    """The call of a row, with what the other rows tell of it: what it printed, and that it failed."""
    told = _told(row)
    name = str(told.get("tool", row.ask or ""))
    others = [each for each in rows if row.call_id is not None and each.call_id == row.call_id]
    error = next((each.text for each in others if each.say == "error"), None)
    return LiveTool(
        call_id=row.call_id or "",
        tool=name,
        label=name,
        first_arg="",
        title=_title(name, told),
        status="success" if error is None else "error",
        reason=error,
        view=_view(name, told, others),
    )


def _told(row: Message) -> dict[str, Any]:
    """What the row says of the call: of most it is JSON, of a command that was asked about the command itself."""
    if row.ask == "command":
        return {"tool": COMMAND, "command": row.text or ""}
    try:
        told = msgspec.json.decode(row.text or "")
    except msgspec.DecodeError:
        told = None
    return told if isinstance(told, dict) else {"tool": row.text or ""}


def _title(name: str, told: Mapping[str, Any]) -> str:
    if name == "listFilesRecursive" and told.get("content"):
        return f"Glob {told['content']}"
    if "serverName" in told:
        return f"mcp--{told['serverName']}--{told.get('toolName') or told.get('uri', '')}"
    if name not in TITLES:
        first = next((value for key, value in told.items() if key != "tool" and isinstance(value, str)), "")
        return f"{name} {first}".rstrip()
    label, *fields = TITLES[name]
    values = (told.get(field) for field in fields)
    return " ".join([label, *(str(value) for value in values if value)])


def _view(name: str, told: Mapping[str, Any], others: Sequence[Message]) -> View | None:
    if name == COMMAND:
        output = next((each.text for each in reversed(others) if each.say == "command_output"), None)
        return TerminalView(command=str(told.get("command", "")), output=output or "")
    diff, path = told.get("diff"), str(told.get("path", ""))
    if not isinstance(diff, str) or not diff.startswith("@@ "):
        return None
    stats = told.get("diffStats")
    counts = stats if isinstance(stats, dict) else {}
    [file] = files_in(f"diff --git a/x b/x\n{diff}")
    added, removed = (value if isinstance(value := counts.get(key), int) else 0 for key in ("added", "removed"))
    is_new = name == "newFileCreated"
    return DiffView(path=path, added=added, removed=removed, hunks=file.hunks, is_new=is_new)
