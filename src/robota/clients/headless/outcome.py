"""Determine how a task ended from its last message."""

from collections.abc import Sequence
from typing import Final, assert_never

import msgspec

from robota.clients.headless import exit_codes
from robota.clients.view.model import RUNNING, ViewModel
from robota.protocol.asks.ask import (
    ApprovalAsk,
    CompletionAsk,
    FailureAsk,
    LimitAsk,
    LimitKind,
    MistakeKind,
    MistakesAsk,
    QuestionAsk,
    ResumeAsk,
)
from robota.protocol.asks.seed import ask_of
from robota.protocol.commands import Refused
from robota.protocol.message import Message
from robota.protocol.slash_commands import CommandOutcome
from robota.protocol.state import is_request_row

SUCCESS: Final = "success"
ERROR_MAX_TURNS: Final = "error_max_turns"
ERROR_MAX_BUDGET: Final = "error_max_budget_usd"
ERROR: Final = "error_during_execution"
WRONG_SHAPE: Final = "error_max_structured_output_retries"
LOG_FAILED: Final = "log_failed"

RAISING: Final = "To continue, raise the limit: --max-budget-usd, --max-tokens-total, or the settings budgets."
NO_ANSWER: Final = "The task ended without a complete answer. The session is saved; run the prompt again."
BROKEN_OFF: Final = (
    "The session ended unexpectedly (this is a bug in Robota). Completed work is kept; see the session log."
)
PARAGRAPH: Final = "\n\n"
ADVICE_FOR_USER: Final = "Tell it how to continue, or start a new task."
ADVICE_WITHOUT_USER: Final = (
    "Completed work is kept and the session is saved: continue it with --continue, or try another model."
)
WRONG_COMMANDS: Final = {
    "unknown_command": exit_codes.USAGE,
    "wrong_arguments": exit_codes.USAGE,
    "no_provider": exit_codes.CONFIGURATION,
}


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a run. `result` is the answer, or the existing part of it if `is_error`."""

    exit_code: int
    terminal_reason: str
    subtype: str = ERROR
    is_error: bool = True
    result: str = ""
    errors: tuple[str, ...] = ()
    api_error_status: int | None = None
    is_structured: bool = False  # whether the result is JSON of the shape that was asked for


class Interruption(msgspec.Struct, frozen=True, kw_only=True):
    """The run was stopped by a signal."""

    exit_code: int
    signal_name: str


def outcome_of(
    messages: Sequence[Message],
    *,
    prompt_ts: int | None,
    aborted_during: str = "aborted_streaming",
    interruption: Interruption | None = None,
    session_id: str = "",
) -> RunOutcome:
    """The outcome according to the final ask.

    `prompt_ts` is the row with the prompt: the answer comes after it. An interruption counts only if the task did not
    end by itself.
    """
    last = messages[-1] if messages else None
    partial = _newest_answer(messages, prompt_ts)
    if last is None or last.type != "ask" or last.partial is True or last.ask is None:
        return _broken_off(messages, partial, aborted_during, interruption)
    match asked := ask_of(last):
        case CompletionAsk():
            return _completed(messages, prompt_ts, last, partial)
        case FailureAsk():
            return _provider_failed(asked, partial)
        case QuestionAsk() | ApprovalAsk():
            return _asks_user(asked, _stopped_by(messages), session_id)
        case LimitAsk():
            return _limit_reached(asked, partial)
        case MistakesAsk():
            return _mistakes(asked, partial)
        case ResumeAsk(is_completed=False):
            return _cancelled(partial, aborted_during, interruption)
        case ResumeAsk() | None:
            error_text = f"The task stopped at {last.ask!r}, which print mode cannot answer. The session is saved."
            return _failed("internal_error", partial, error_text)
        case never:
            assert_never(never)


def aborted_during(view: ViewModel) -> str:
    """The terminal reason of a cancelled task: during a call, or during a reply."""
    in_tools = any(tool.status in (RUNNING, "interrupted") for tool in view.tools.values())
    return "aborted_tools" if in_tools else "aborted_streaming"


def refused(refusal: Refused) -> RunOutcome:
    """The session refused the prompt or the slash command."""
    code = WRONG_COMMANDS.get(refusal.code, exit_codes.TASK_FAILED)
    return RunOutcome(exit_code=code, terminal_reason="turn_setup_failed", errors=(refusal.message,))


def wrong_shape(answer: str, problem: str) -> RunOutcome:
    """The answer does not match the schema, even after a second try."""
    error_text = f"The answer does not match --json-schema: {problem} The session is saved."
    failed = _failed("structured_output_retry_exhausted", answer, error_text)
    return msgspec.structs.replace(failed, subtype=WRONG_SHAPE)


def not_saved(outcome: RunOutcome, reason: str) -> RunOutcome:
    """A run that is missing from its log has failed. Its answer is kept, because it is stored nowhere else."""
    if outcome.is_error:
        return msgspec.structs.replace(outcome, errors=(*outcome.errors, f"The session is not saved. {reason}"))
    error_text = f"The answer is complete, but the session is not saved completely. {reason}"
    failed = _failed(LOG_FAILED, outcome.result, error_text)
    return msgspec.structs.replace(failed, is_structured=outcome.is_structured)


def command_done(outcome: CommandOutcome) -> RunOutcome:
    """A slash command answered without the model."""
    from robota.clients.render.command_text import command_text

    return RunOutcome(
        exit_code=exit_codes.DONE,
        terminal_reason="completed",
        subtype=SUCCESS,
        is_error=False,
        result=command_text(outcome) or "Done.",
    )


def _completed(messages: Sequence[Message], prompt_ts: int | None, last: Message, partial: str) -> RunOutcome:
    """Success only with a complete answer: an empty or truncated one must never look like success."""
    rows = _answer_rows(_last_reply(messages, prompt_ts))
    text = _as_paragraphs(rows) or last.text or ""
    if not text.strip() or any(row.interrupted for row in rows):
        stopped = _stopped_by(messages)
        return _failed("hook_stopped" if stopped else "model_error", partial, stopped or NO_ANSWER)
    return RunOutcome(
        exit_code=exit_codes.DONE, terminal_reason="completed", subtype=SUCCESS, is_error=False, result=text
    )


def _stopped_by(messages: Sequence[Message]) -> str:
    """Why the task stopped without an answer, if the engine has just said so: a hook refused, a cost is unknown."""
    error_text = messages[-2] if len(messages) > 1 else None
    return (error_text.text or "") if error_text is not None and error_text.say == "error" else ""


def _provider_failed(asked: FailureAsk, partial: str) -> RunOutcome:
    fault = asked.fault
    retryable = fault is not None and fault.retryable
    error_text = (fault.message if fault is not None else None) or asked.message or "The request to the model failed."
    return RunOutcome(
        exit_code=exit_codes.PROVIDER_RETRYABLE if retryable else exit_codes.PROVIDER_PERMANENT,
        terminal_reason="prompt_too_long" if fault is not None and fault.kind == "context_too_long" else "api_error",
        result=partial,
        errors=(error_text,),
        api_error_status=fault.status if fault is not None else None,
    )


def _asks_user(asked: QuestionAsk | ApprovalAsk, why: str, session_id: str) -> RunOutcome:
    """The run ended with an ask that the user can answer later."""
    if isinstance(asked, QuestionAsk):
        return _question(asked, session_id)
    error_text = f"{why} The agent needs approval: {asked.title}\nTo review and answer it: robota state {session_id}"
    return RunOutcome(exit_code=exit_codes.NEEDS_HUMAN, terminal_reason="needs_input", errors=(error_text.strip(),))


def _question(asked: QuestionAsk, session_id: str) -> RunOutcome:
    error_text = f"The agent asks: {asked.question}\nTo answer and continue: robota answer {session_id} TEXT"
    return RunOutcome(
        exit_code=exit_codes.NEEDS_HUMAN, terminal_reason="needs_input", result=asked.question, errors=(error_text,)
    )


def _limit_reached(asked: LimitAsk, partial: str) -> RunOutcome:
    if asked.limit is LimitKind.COST:
        return RunOutcome(
            exit_code=exit_codes.BUDGET_LIMIT,
            terminal_reason="budget_exhausted",
            subtype=ERROR_MAX_BUDGET,
            result=partial,
            errors=(f"{asked.text or 'The budget is used up.'} Completed work is kept. {RAISING}",),
        )
    return RunOutcome(
        exit_code=exit_codes.TURN_LIMIT,
        terminal_reason="max_turns",
        subtype=ERROR_MAX_TURNS,
        result=partial,
        errors=("The turn limit is reached. Completed work is kept; raise the limit with --max-turns.",),
    )


def _mistakes(asked: MistakesAsk, partial: str) -> RunOutcome:
    error_text = asked.message or "The model made too many mistakes in a row. Completed work is kept."
    error_text = error_text.replace(ADVICE_FOR_USER, ADVICE_WITHOUT_USER)
    repeats = asked.mistake is MistakeKind.REPEATED_CALL
    return _failed("repeated_tool_use" if repeats else "malformed_tool_use_exhausted", partial, error_text)


def _cancelled(partial: str, during: str, interruption: Interruption | None) -> RunOutcome:
    """The task is paused."""
    if interruption is not None:
        return _interrupted(partial, during, interruption)
    return _failed(during, partial, "The task was cancelled. Completed work is kept and the session is saved.")


def _broken_off(
    messages: Sequence[Message], partial: str, during: str, interruption: Interruption | None
) -> RunOutcome:
    """The outcome without a final ask; if the task failed, the last row says why."""
    if interruption is not None:
        return _interrupted(partial, during, interruption)
    reason = messages[-1].text if messages and messages[-1].say == "error" else None
    return _failed("internal_error", partial, reason or BROKEN_OFF)


def _interrupted(partial: str, during: str, interruption: Interruption) -> RunOutcome:
    error_text = f"Stopped by {interruption.signal_name}. Completed work is kept and the session is saved."
    return RunOutcome(exit_code=interruption.exit_code, terminal_reason=during, result=partial, errors=(error_text,))


def _failed(reason: str, partial: str, error_text: str) -> RunOutcome:
    return RunOutcome(exit_code=exit_codes.TASK_FAILED, terminal_reason=reason, result=partial, errors=(error_text,))


def _newest_answer(messages: Sequence[Message], prompt_ts: int | None) -> str:
    """The answer in the newest reply, after the prompt, that contains one."""
    while messages and messages[-1].ts != prompt_ts:
        reply = _last_reply(messages, prompt_ts)
        if text := _as_paragraphs(_answer_rows(reply)):
            return text
        messages = messages[: max(0, len(messages) - len(reply) - 1)]  # also without the row of its request
    return ""


def _last_reply(messages: Sequence[Message], prompt_ts: int | None) -> Sequence[Message]:
    """The rows after the last request, or after the prompt."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].ts == prompt_ts or is_request_row(messages[index]):
            return messages[index + 1 :]
    return messages


def _answer_rows(reply: Sequence[Message]) -> Sequence[Message]:
    """The result that the task was completed with; without one, all text of the reply."""
    completed = [row for row in reply if row.say == "completion_result"]
    return completed[-1:] or [row for row in reply if row.say == "text" and row.text]


def _as_paragraphs(rows: Sequence[Message]) -> str:
    """The texts as paragraphs: the model thought between them."""
    return PARAGRAPH.join(row.text or "" for row in rows)
