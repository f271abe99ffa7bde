"""What hooks are told while a person is waited for."""

import json
from typing import Final

from robota.protocol.asks.kinds import is_idle_ask

PERMISSIONS: Final = {
    "command": "Robota needs your permission to run a command",
    "tool": "Robota needs your permission to use a tool",
    "use_mcp_server": "Robota needs your permission to use an MCP server",
}
QUESTION: Final = "Robota has a question for you"
WAITING: Final = "Robota is waiting for your input"


def notification_of(ask: str, text: str) -> dict[str, str]:
    """The fields of a notification about an ask with this text."""
    if is_idle_ask(ask):
        return {"notification_type": "idle_prompt", "title": "Waiting for you", "message": WAITING}
    title = "Permission needed" if ask in PERMISSIONS else "Question"
    words = PERMISSIONS.get(ask, QUESTION)
    subject = _subject(ask, text)
    message = f"{words}: {subject}" if subject else words
    return {"notification_type": "permission_prompt", "title": title, "message": message}


def _subject(ask: str, text: str) -> str:
    """What it is about, in words; asks about tools and questions are JSON."""
    if ask == "command":
        return text
    try:
        told = json.loads(text)
    except ValueError:
        return ""
    found = (told.get("question") or told.get("tool")) if isinstance(told, dict) else None
    return found if isinstance(found, str) else ""
