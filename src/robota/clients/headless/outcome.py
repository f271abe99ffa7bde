"""How a task ended, read from its last message."""

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from robota.clients.headless import exit_codes
from robota.protocol.message import Message
from robota.protocol.state import is_request_row

SUCCESS: Final = "success"
ERROR_MAX_TURNS: Final = "error_max_turns"
ERROR_MAX_BUDGET: Final = "error_max_budget_usd"
ERROR: Final = "error_during_execution"

NO_ANSWER: Final = "The task ended without a complete answer. Its session is kept; run the prompt again."
ANSWERS: Final = frozenset({"text", "completion_result"})


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a run. `result` is the answer, or what there is of it if `is_error`."""

    exit_code: int
    terminal_reason: str
    subtype: str = ERROR
    is_error: bool = True
    result: str = ""
    errors: tuple[str, ...] = ()
    api_error_status: int | None = None


class Interruption(msgspec.Struct, frozen=True, kw_only=True):
    """We were told to stop by a signal."""

    exit_code: int
    signal_name: str


def outcome_of(
    messages: Sequence[Message],
    *,
    prompt_ts: int | None,
    aborted_during: str = "aborted_streaming",
    interruption: Interruption | None = None,
) -> RunOutcome:
    """The outcome that the final ask tells.

    `prompt_ts` is the row that repeats the prompt: an answer stands after it. An interruption counts only if
    the task did not come to an end of its own.
    """
    last = messages[-1] if messages else None
    ask = last.ask if last is not None and last.type == "ask" and last.partial is not True else None
    so_far = _newest_answer(messages, prompt_ts)
    partial = (so_far.text or "") if so_far is not None else ""
    if last is None or ask is None or ask == "resume_task":
        return _unfinished(ask, partial, aborted_during, interruption)
    if ask == "completion_result":
        return _completed(messages, prompt_ts, last, partial)
    if ask == "api_req_failed":
        return _provider_failed(last, partial)
    if ask == "followup":
        return _question(last)
    if ask == "auto_approval_max_req_reached":
        return _limit_reached(last, partial)
    if ask == "mistake_limit_reached":
        return _mistakes(last, partial)
    return RunOutcome(
        exit_code=exit_codes.TASK_FAILED,
        terminal_reason="internal_error",
        result=partial,
        errors=(f"The task stopped at {ask!r}, which print mode cannot answer. Its session is kept.",),
    )


def refused(message: str) -> RunOutcome:
    """The engine did not take the prompt."""
    return RunOutcome(exit_code=exit_codes.TASK_FAILED, terminal_reason="turn_setup_failed", errors=(message,))


def _completed(messages: Sequence[Message], prompt_ts: int | None, last: Message, partial: str) -> RunOutcome:
    """Done only with a whole answer in hand: an empty or cut one must never look like success."""
    answer = _answer_of_last_request(messages, prompt_ts)
    text = (answer.text if answer is not None else None) or last.text or ""
    if not text.strip() or (answer is not None and answer.interrupted):
        return RunOutcome(
            exit_code=exit_codes.TASK_FAILED,
            terminal_reason="model_error",
            result=partial,
            errors=(_stopped_by(messages) or NO_ANSWER,),
        )
    return RunOutcome(
        exit_code=exit_codes.DONE, terminal_reason="completed", subtype=SUCCESS, is_error=False, result=text
    )


def _stopped_by(messages: Sequence[Message]) -> str:
    """Why the person is next without an answer, if the engine has just said it: a hook refused or stopped it."""
    said = messages[-2] if len(messages) > 1 else None
    return (said.text or "") if said is not None and said.say == "error" else ""


def _provider_failed(last: Message, partial: str) -> RunOutcome:
    fault = last.fault
    retryable = fault is not None and fault.retryable
    said = (fault.message if fault is not None else None) or last.text or "The request to the model failed."
    return RunOutcome(
        exit_code=exit_codes.PROVIDER_RETRYABLE if retryable else exit_codes.PROVIDER_PERMANENT,
        terminal_reason=_fault_reason(fault.kind if fault is not None else ""),
        result=partial,
        errors=(said,),
        api_error_status=fault.status if fault is not None else None,
    )


def _fault_reason(kind: str) -> str:
    return "prompt_too_long" if kind == "context_too_long" else "api_error"


def _question(last: Message) -> RunOutcome:
    question = _question_text(last.text or "")
    return RunOutcome(
        exit_code=exit_codes.NEEDS_HUMAN,
        terminal_reason="needs_input",
        result=question,
        errors=(f"The agent asks: {question}\nNobody can answer in print mode; put the answer into the prompt.",),
    )


def _question_text(text: str) -> str:
    """The question in a `followup` ask, whose text is JSON in the seed's protocol."""
    try:
        asked: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    question = asked.get("question") if isinstance(asked, dict) else None
    return question if isinstance(question, str) else text


def _limit_reached(last: Message, partial: str) -> RunOutcome:
    if '"cost"' in (last.text or ""):
        return RunOutcome(
            exit_code=exit_codes.BUDGET_LIMIT,
            terminal_reason="budget_exhausted",
            subtype=ERROR_MAX_BUDGET,
            result=partial,
            errors=("The budget is used up. What was done stays done; allow more with --max-budget-usd.",),
        )
    return RunOutcome(
        exit_code=exit_codes.TURN_LIMIT,
        terminal_reason="max_turns",
        subtype=ERROR_MAX_TURNS,
        result=partial,
        errors=("The limit of turns is reached. What was done stays done; allow more with --max-turns.",),
    )


def _mistakes(last: Message, partial: str) -> RunOutcome:
    return RunOutcome(
        exit_code=exit_codes.TASK_FAILED,
        terminal_reason="malformed_tool_use_exhausted",
        result=partial,
        errors=(last.text or "The model made too many mistakes in a row. What was done stays done.",),
    )


def _unfinished(ask: str | None, partial: str, aborted_during: str, interruption: Interruption | None) -> RunOutcome:
    """The task is paused, or broke off without saying how."""
    if interruption is not None:
        return RunOutcome(
            exit_code=interruption.exit_code,
            terminal_reason=aborted_during,
            result=partial,
            errors=(f"Stopped by {interruption.signal_name}. What was done stays done; the session is kept.",),
        )
    if ask is not None:
        said = "The task was cancelled. What was done stays done; the session is kept."
        return RunOutcome(
            exit_code=exit_codes.TASK_FAILED, terminal_reason=aborted_during, result=partial, errors=(said,)
        )
    said = "The session broke off without an end (this is a bug in robota). What was done stays done; see its log."
    return RunOutcome(
        exit_code=exit_codes.TASK_FAILED, terminal_reason="internal_error", result=partial, errors=(said,)
    )


def _newest_answer(messages: Sequence[Message], prompt_ts: int | None) -> Message | None:
    for row in reversed(messages):
        if row.ts == prompt_ts:
            return None
        if row.say in ANSWERS and row.text:
            return row
    return None


def _answer_of_last_request(messages: Sequence[Message], prompt_ts: int | None) -> Message | None:
    for row in reversed(messages):
        if row.ts == prompt_ts or is_request_row(row):
            return None
        if row.say in ANSWERS:
            return row
    return None
