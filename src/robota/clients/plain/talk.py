"""Asks that are no question of permission: what is shown, and what a typed line means. Pure."""

from typing import Final

from robota.clients.plain.ask_text import object_in
from robota.protocol.commands import AskResponse
from robota.protocol.message import Message

GO_ON: Final = {
    "resume_task": "Interrupted. Enter goes on, words say how, Ctrl-D leaves.",
    "api_req_failed": "Enter tries again, n gives up.",
    "mistake_limit_reached": "Enter goes on, words say how, n gives up.",
}


def words_for(ask: Message) -> list[str]:
    """What the person reads before they answer."""
    if ask.ask == "followup":
        question = object_in(ask)
        suggested = [str(each.get("answer", "")) for each in question.get("suggest", ()) if isinstance(each, dict)]
        numbered = [f"  {number} {answer}" for number, answer in enumerate(suggested, start=1)]
        return [f"? {question.get('question', ask.text or '')}", *numbered]
    if ask.ask == "auto_approval_max_req_reached":
        limit = object_in(ask)
        what = f"{limit.get('count')} requests" if limit.get("type") == "requests" else f"${limit.get('count')}"
        return [f"! The limit of {what} is reached. y goes on for as much again, n stops."]
    if ask.ask == "completion_result":
        return []
    return [line for line in (f"! {ask.text}" if ask.text else "", GO_ON.get(ask.ask or "", "")) if line]


def answer_to(ask: Message, typed: str) -> AskResponse | None:
    """The answer in what was typed; None if it is none and has to be asked again."""
    line = typed.strip()
    if ask.ask == "followup":
        return _chosen(ask, line)
    if ask.ask == "completion_result":
        return AskResponse(ask_response="messageResponse", ts=ask.ts, text=typed) if line else None
    if line.lower() in ("n", "no"):
        return AskResponse(ask_response="noButtonClicked", ts=ask.ts)
    if line.lower() in ("y", "yes") or (not line and ask.ask in GO_ON):
        return AskResponse(ask_response="yesButtonClicked", ts=ask.ts)
    if not line or ask.ask == "auto_approval_max_req_reached":
        return None
    return AskResponse(ask_response="messageResponse", ts=ask.ts, text=typed)


def _chosen(ask: Message, line: str) -> AskResponse | None:
    suggested = object_in(ask).get("suggest", [])
    text = line
    if line.isascii() and line.isdecimal() and 1 <= int(line) <= len(suggested):
        text = str(suggested[int(line) - 1].get("answer", line))
    return AskResponse(ask_response="messageResponse", ts=ask.ts, text=text) if text else None
