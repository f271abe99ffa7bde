"""Rows and calls of the conversation as data for the page."""

import re
from typing import Final

import msgspec

from robota.clients.view.model import LiveTool, OpenAsk
from robota.clients.web.markdown_html import blocks_of
from robota.clients.web.page_data import PageCall, PageRow
from robota.clients.web.page_notes import words_of
from robota.clients.web.page_views import MAX_PROSE, MAX_TEXT, ask_data, shortened, view_data
from robota.protocol.asks.buttons import controls_at
from robota.protocol.asks.seed import ask_of
from robota.protocol.calls import PastCall
from robota.protocol.message import Message
from robota.text.visible import visible

# How a row looks. A row of a kind that is not listed is a note with its name.
KINDS: Final = {
    "text": "answer",
    "completion_result": "answer",
    "subtask_result": "answer",
    "reasoning": "thought",
    "user_feedback": "prompt",
    "user_feedback_diff": "prompt",
    "command_output": "output",
    "background_output": "output",
    "api_req_started": "request",
    "api_req_finished": "request",
    "api_req_deleted": "request",
    "error": "error",
    "diff_error": "error",
    "rooignore_error": "error",
    "condense_context_error": "error",
}
PROSE: Final = frozenset({"answer", "thought"})
# What a browser may draw: bitmaps, which contain no scripts.
IMAGE: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")
MAX_IMAGES: Final = 20


def kind_of(row: Message) -> str:
    """How the page shows a row."""
    return "ask" if row.type == "ask" else KINDS.get(row.say or "", "note")


def page_row(row: Message, text: str | None = None, *, is_prompt: bool = False) -> PageRow:
    """A row. `text` is everything that has been streamed of it, if that is more than the row says."""
    said = words_of(row) if text is None else text
    kind = "prompt" if is_prompt else kind_of(row)
    asked = ask_of(row) if row.type == "ask" else None
    is_prose = kind in PROSE and said is not None and len(said) <= MAX_PROSE
    return PageRow(
        ts=row.ts,
        type=row.type,
        kind=kind,
        ask=row.ask,
        say=row.say,
        text=None if is_prose else _plain(said, kind),
        blocks=blocks_of(said) if is_prose and said else (),
        length=0 if said is None or len(said) <= MAX_TEXT else len(said),
        partial=row.partial,
        is_answered=row.is_answered,
        interrupted=row.interrupted,
        call_id=row.call_id,
        images=tuple(each for each in row.images or () if IMAGE.fullmatch(each))[:MAX_IMAGES],
        controls=controls_at(row) if row.type == "ask" else None,
        asked=None if asked is None or row.is_answered else ask_data(asked),
    )


def page_ask(ask: OpenAsk, *, is_beside: bool) -> PageRow:
    """An ask that waits for the user."""
    return msgspec.structs.replace(page_row(ask.message), is_beside=is_beside)


def past_call(call: PastCall) -> PageCall:
    """A call that has ended before the page was opened."""
    return PageCall(
        call_id=call.call_id,
        after=call.after,
        title=visible(call.title),
        status=call.status,
        purpose=call.purpose,
        duration_ms=call.duration_ms,
        reason=None if call.reason is None else visible(call.reason),
        view=None if call.view is None else view_data(call.view),
    )


def live_call(call: LiveTool, after: int) -> PageCall:
    """A call of the newest reply."""
    return PageCall(
        call_id=call.call_id,
        after=after,
        title=visible(call.title or f"{call.label} {call.first_arg}".rstrip()),
        status=call.status,
        purpose=call.purpose,
        duration_ms=call.duration_ms,
        reason=None if call.reason is None else visible(call.reason),
        output="" if call.view is not None else visible(call.output),
        view=None if call.view is None else view_data(call.view),
    )


def _plain(text: str | None, kind: str) -> str | None:
    """The text of a row; that of a request is JSON, which the page reads, and is never changed."""
    return text if text is None or kind == "request" else visible(shortened(text))
