"""Lets a second model answer, in the mode confined, what the user would be asked. Whatever goes wrong, the user is."""

import asyncio
from typing import Any, Final

import msgspec

from robota.config.launch_options import PromptAuthor
from robota.contracts.hook import ModelUnavailable
from robota.contracts.tool import ToolCall
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.engine.runtime.rights import narrowest_mode
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.log.kinds.calls import ReviewRecord
from robota.policy.review import (
    MAX_REASON_CHARACTERS,
    Outcome,
    Review,
    ReviewedCall,
    fits_review,
    obstacle_to_review,
    read_review,
    review_instructions,
    review_text,
    why_switched_off,
)
from robota.protocol.events import Notice
from robota.protocol.permission_mode import PermissionMode
from robota.text.visible import single_line

REVIEWER: Final = "reviewer"
REVIEW_SECONDS: Final = 20.0
SWITCHED_OFF: Final = "The reviewer is off for the rest of this session: {}. You are asked instead."
NO_REVIEW: Final = "{} (No review: {}.)"
DECLINED: Final = "{} (The reviewer did not approve it: {})"


async def reviewed(
    runtime: TaskRuntime, call: ToolCall, subject: Subject, asked_by_hook: str | None, verdict: Verdict
) -> Verdict:
    """The verdict, or that of the reviewer where it may decide and has no doubt: only in the mode confined."""
    is_settled = asked_by_hook is not None or runtime.has_approval_answer(call.id)
    if narrowest_mode(runtime) is not PermissionMode.CONFINED or is_settled or runtime.ask_model is None:
        return verdict
    words = _user_words(runtime)
    if obstacle_to_review(subject, verdict, words) is not None:
        return verdict
    shown = ReviewedCall(
        user_words=words, tool=subject.tool, input=call.input, reason=verdict.reason, facts=_facts(subject)
    )
    if _is_secret(runtime, shown) or not fits_review(shown):
        return verdict
    if any(review.outcome == "off" for review in runtime.reviews):
        return verdict
    if (why := why_switched_off(runtime.reviews, runtime.meter.cost)) is not None:
        runtime.reviews.append(Review(outcome="off"))
        runtime.warn(SWITCHED_OFF.format(why))
        return verdict
    return await _decided(runtime, call, shown, verdict)


async def _decided(runtime: TaskRuntime, call: ToolCall, shown: ReviewedCall, verdict: Verdict) -> Verdict:
    before = runtime.meter.cost
    answer, problem = await _answer(runtime, review_text(shown))
    after = runtime.meter.cost
    cost = None if before is None or after is None else after - before
    if answer is None:
        _note(runtime, call, "failed", problem, cost)
        return msgspec.structs.replace(verdict, reason=NO_REVIEW.format(verdict.reason, problem))
    reason = single_line(answer.reason, MAX_REASON_CHARACTERS)
    if not answer.approve:
        _note(runtime, call, "declined", reason, cost)
        return msgspec.structs.replace(verdict, reason=DECLINED.format(verdict.reason, reason))
    _note(runtime, call, "approved", reason, cost)
    runtime.bus.emit(Notice(level="info", text=f"The reviewer approved {shown.tool}: {reason}"))
    return Verdict(decision=Decision.ALLOW, reason=f"The reviewer approved it: {reason}", rule=REVIEWER)


async def _answer(runtime: TaskRuntime, text: str) -> tuple[Any, str]:
    """The answer of the reviewer, or None and what is wrong."""
    assert runtime.ask_model is not None
    model = runtime.options.settings.reviewer.model
    try:
        async with asyncio.timeout(REVIEW_SECONDS):
            written = await runtime.ask_model(runtime, review_instructions(), text, model)
    except TimeoutError:
        return None, f"it took more than {REVIEW_SECONDS:g} seconds"
    except ModelUnavailable as error:
        return None, single_line(str(error), MAX_REASON_CHARACTERS).rstrip(".")
    answer = read_review(written)
    return answer, "" if answer is not None else "its answer cannot be read"


def _note(runtime: TaskRuntime, call: ToolCall, outcome: Outcome, reason: str, cost: float | None) -> None:
    runtime.reviews.append(Review(outcome=outcome, cost=cost))
    model = runtime.options.settings.reviewer.model or runtime.options.model
    runtime.journal.write(
        ReviewRecord(task_id=runtime.task_id, call_id=call.id, model=model, outcome=outcome, reason=reason, cost=cost)
    )


def _user_words(runtime: TaskRuntime) -> tuple[str, ...]:
    """What the user typed in this task. The prompt of a subtask or an agent was written by a model."""
    if runtime.options.launch.prompt_author is not PromptAuthor.USER:
        return ()
    if runtime.parent is not None or runtime.agent is not None or runtime.is_subtask:
        return ()
    rows = runtime.rows.messages
    typed = [row.text or "" for row in rows if row.say == "user_feedback"]
    first = [rows[0].text or ""] if rows and rows[0].say == "text" else []
    return (*first, *typed)


def _facts(subject: Subject) -> tuple[str, ...]:
    touches = subject.touches
    facts = [f"It reads or writes {', '.join(touches.paths)}."] if touches.paths else []
    if touches.host is not None:
        facts.append(f"It connects to {touches.host}, which the user has named.")
    effects = ", ".join(sorted(subject.effects))
    return (*facts, f"What such calls can do: {effects or 'unknown'}.")


def _is_secret(runtime: TaskRuntime, shown: ReviewedCall) -> bool:
    data = msgspec.json.encode(shown.input)
    return runtime.services.redactor(data) is not data
