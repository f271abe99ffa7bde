"""What a second model may decide in the user's place, what it is shown of a call, and how its answer is read.

It is shown no text that anybody but the user or Robota wrote, except the call itself. What it may never approve is
decided here, before it is asked.
"""

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from robota.contracts.tool import Effect
from robota.contracts.verdict import Decision, Subject, Verdict

MAX_USER_CHARACTERS: Final = 8_000
MAX_CALL_CHARACTERS: Final = 6_000
MAX_REASON_CHARACTERS: Final = 200
MAX_REVIEWS: Final = 30
MAX_SHARE_OF_COST: Final = 0.02
MIN_REVIEWS_FOR_COST: Final = 5  # before that, one review is a large share of a session that has just begun
MAX_DECLINED_IN_A_ROW: Final = 3
MAX_DECLINED: Final = 10
RECENT: Final = 50
# Calls of other systems whose names say that something leaves this machine for good, or is gone.
LASTING: Final = re.compile(
    r"(?i)(?:^|[^a-z])(?:push|publish|release|deploy|merge|send|post|upload|share|delete|remove|drop|pay|transfer|invite|grant)"
)

FENCED: Final = re.compile(r"```(?:json)?\n(.*)\n```", re.DOTALL)

Outcome = Literal["approved", "declined", "failed", "off"]


class ReviewedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call, as the reviewer is shown it. `user_words` are the user's messages, oldest first."""

    user_words: tuple[str, ...]
    tool: str
    input: dict[str, Any]
    reason: str
    facts: tuple[str, ...] = ()


class ReviewAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer of the reviewer."""

    approve: bool
    reason: str


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """One review of a session. `cost` is None if it is unknown."""

    outcome: Outcome
    cost: float | None = None


def obstacle_to_review(subject: Subject, verdict: Verdict, user_words: Sequence[str]) -> str | None:
    """Why the reviewer may not decide about a call, as words to follow a colon; None if it may."""
    touches = subject.touches
    if verdict.decision is not Decision.ASK:
        return "nothing is asked"
    if verdict.rule is not None or verdict.wanted_by_hook or any(part.rule is not None for part in verdict.parts):
        return "a rule, a hook or a protected place requires the user's own approval"
    if touches.outside_sandbox or touches.opened:
        return "it leaves the sandbox"
    if touches.command is not None or Effect.EXECUTE in subject.effects:
        return "a command that cannot be confined and undone needs the user"
    if touches.host is not None and not _is_named(touches.host, user_words):
        return "the user has not named this host"
    if LASTING.search(subject.tool.rpartition("--")[2]):
        return "its name says that something leaves this machine, or is gone"
    return None if any(words.strip() for words in user_words) else "the user has said nothing"


def why_switched_off(reviews: Sequence[Review], session_cost: float | None) -> str | None:
    """Why the reviewer is asked no more in this session; None if it is."""
    asked = [review for review in reviews if review.outcome != "off"]
    outcomes = [review.outcome for review in asked]
    if len(asked) >= MAX_REVIEWS:
        return f"it has decided {MAX_REVIEWS} times"
    if outcomes[-MAX_DECLINED_IN_A_ROW:].count("declined") == MAX_DECLINED_IN_A_ROW:
        return f"it declined {MAX_DECLINED_IN_A_ROW} times in a row"
    if outcomes[-RECENT:].count("declined") >= MAX_DECLINED:
        return f"it declined {MAX_DECLINED} times"
    spent = sum(review.cost or 0.0 for review in asked)
    if len(asked) >= MIN_REVIEWS_FOR_COST and session_cost and spent > MAX_SHARE_OF_COST * session_cost:
        return f"it has cost more than {MAX_SHARE_OF_COST:.0%} of the session"
    return None


def review_text(call: ReviewedCall) -> str:
    """What the reviewer is asked."""
    words = "\n---\n".join(call.user_words)
    if len(words) > MAX_USER_CHARACTERS:  # the first prompt says what it is all about, the newest what is wanted now
        half = MAX_USER_CHARACTERS // 2
        words = f"{words[:half]}\n[…]\n{words[-half:]}"
    written = json.dumps(call.input, ensure_ascii=True, indent=1)
    facts = "\n".join(f"- {fact}" for fact in (f"Why the user would be asked: {call.reason}", *call.facts))
    return (
        f"<user_messages>\n{_closed(words)}\n</user_messages>\n\n"
        f"<facts>\n{_closed(facts)}\n</facts>\n\n"
        f"<call>\n{call.tool}\n{_closed(written)}\n</call>"
    )


def fits_review(call: ReviewedCall) -> bool:
    """Whether the reviewer can be shown the whole call. Of a part it could not tell what the rest does."""
    return len(json.dumps(call.input, ensure_ascii=True, indent=1)) <= MAX_CALL_CHARACTERS


def read_review(text: str) -> ReviewAnswer | None:
    """The answer, if it is exactly the JSON that was asked for; a code fence around it is taken for nothing more."""
    fenced = FENCED.fullmatch(text.strip())
    try:
        answer = msgspec.json.decode(
            (fenced[1] if fenced else text.strip()).encode("utf-8", "replace"), type=ReviewAnswer
        )
    except (msgspec.DecodeError, RecursionError):
        return None
    return answer if answer.reason.strip() else None


@cache
def review_instructions() -> str:
    """The system prompt of the reviewer."""
    return Path(__file__).with_name("reviewer.md").read_text(encoding="utf-8").strip()


def _is_named(host: str, user_words: Sequence[str]) -> bool:
    name = re.escape(host.casefold().removeprefix("www."))
    return any(re.search(rf"(?<![\w.-])(?:www\.)?{name}(?![\w-]|\.\w)", words.casefold()) for words in user_words)


def _closed(text: str) -> str:
    """The text without anything that could end the element that it is in."""
    return re.sub(r"<(?=\s*/?\s*(?:user_messages|facts|call)\b)", "&lt;", text)
