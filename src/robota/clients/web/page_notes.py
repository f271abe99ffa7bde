"""What rows say whose text is for programs: their content in words."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from robota.clients.view.transcript import ERROR_TEXTS
from robota.protocol.message import Message

MARKUP: Final = re.compile(r"</?[a-z_]+>")


def words_of(row: Message) -> str | None:
    """The text of the row for the user."""
    in_words = NOTES.get(row.say or "") if row.type == "say" else None
    return row.text if in_words is None else in_words(row)


def _condensed(row: Message) -> str:
    figures = row.context_condense
    if not figures:
        return "Condensing the conversation"
    return f"{_tokens(figures)}\n\n{figures.get('summary') or ''}".rstrip()


def _truncated(row: Message) -> str:
    figures = row.context_truncation or {}
    return f"{figures.get('messagesRemoved', 'Some')} messages are no longer sent to the model. {_tokens(figures)}"


def _tokens(figures: Mapping[str, Any]) -> str:
    before, after = figures.get("prevContextTokens"), figures.get("newContextTokens")
    if not isinstance(before, int) or not isinstance(after, int):
        return ""
    return f"The conversation had {before:,} tokens and has {after:,} now."


def _from_json(template: str) -> Callable[[Message], str | None]:
    """The template with the fields of the row's JSON; its text as it is, if that has not all of them."""

    def in_words(row: Message) -> str | None:
        try:
            return template.format_map(_payload(row))
        except KeyError:
            return row.text

    return in_words


def _payload(row: Message) -> Mapping[str, Any]:
    try:
        payload = json.loads(row.text or "")
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


NOTES: Final[Mapping[str, Callable[[Message], str | None]]] = {
    "error": lambda row: ERROR_TEXTS.get(row.text or "", row.text),
    "condense_context": _condensed,
    "sliding_window_truncation": _truncated,
    "api_req_retry_delayed": lambda row: MARKUP.sub(" ", row.text or "").strip(),
    "api_req_rate_limit_wait": _from_json("The next request waits {seconds} s."),
    "user_feedback_diff": _from_json("You changed {path}:\n{diff}"),
    "user_edit_todos": lambda row: "You changed the plan.",
    "mcp_server_request_started": _from_json("{serverName}: {toolName}"),
    "too_many_tools_warning": _from_json("{toolCount} tools of {serverCount} MCP servers are many for a model."),
}
