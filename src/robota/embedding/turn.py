"""`TurnResult`: how the agent answered one prompt."""

from collections.abc import Sequence

import msgspec

from robota.clients.headless.outcome import RunOutcome, outcome_of
from robota.clients.headless.tally import Tally
from robota.protocol.commands import Refused
from robota.protocol.connection.state_store import UnansweredAsk
from robota.protocol.conversation import Usage
from robota.protocol.message import Message
from robota.protocol.slash_commands import CommandOutcome


class TurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a turn, after its last event.

    `text` is the answer; with `is_error`, it is what there is of it, and `errors` say what happened. `reason` is for
    programs: completed, needs_input, max_turns, budget_exhausted, api_error, aborted_tools …. With `pending`, the agent
    waits for an answer to this question. `outcome` is what a slash command returned. Usage and cost count everything
    since the session was opened; the cost is in US dollars, and None if a price is unknown.
    """

    text: str
    reason: str = "completed"
    is_error: bool = False
    errors: tuple[str, ...] = ()
    pending: UnansweredAsk | None = None
    outcome: CommandOutcome | None = None
    session_id: str = ""
    requests: int = 0
    usage: Usage = Usage()
    cost: float | None = 0.0


def finished(messages: Sequence[Message], prompt_ts: int | None, tally: Tally) -> TurnResult:
    """The result of a turn after which the agent has stopped."""
    ended = outcome_of(tuple(messages), prompt_ts=prompt_ts, session_id=tally.session_id)
    return _result(ended, tally)


def waiting(pending: UnansweredAsk, tally: Tally) -> TurnResult:
    """The result of a turn after which the agent waits for an answer."""
    return _with_totals(TurnResult(text="", reason="needs_input", pending=pending), tally)


def refused(refusal: Refused, tally: Tally) -> TurnResult:
    """The result of a prompt that the session refused."""
    return _with_totals(TurnResult(text="", reason=refusal.code, is_error=True, errors=(refusal.message,)), tally)


def answered_at_once(outcome: CommandOutcome, tally: Tally) -> TurnResult:
    """The result of a slash command that needed no model."""
    from robota.clients.render.command_text import command_text

    return _with_totals(TurnResult(text=command_text(outcome), outcome=outcome), tally)


def _result(ended: RunOutcome, tally: Tally) -> TurnResult:
    result = TurnResult(
        text=ended.result, reason=ended.terminal_reason, is_error=ended.is_error, errors=tuple(ended.errors)
    )
    return _with_totals(result, tally)


def _with_totals(result: TurnResult, tally: Tally) -> TurnResult:
    return msgspec.structs.replace(
        result, session_id=tally.session_id, requests=tally.num_turns, usage=tally.usage, cost=tally.total_cost
    )
