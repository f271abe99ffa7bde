"""Reads one call from a log: its input, the decision of the policy, and who allowed it."""

from collections.abc import Iterable
from typing import Any

import msgspec

from robota.log.kinds.calls import AnswerRecord, ToolStartRecord, VerdictRecord
from robota.log.kinds.conversation import MessageRecord
from robota.log.record import Record, payload_of


class CallAccount(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A call with its input. `decision`, `reason` and `rule` are those of the policy, `answer` is the user's."""

    call_id: str
    tool: str = ""
    input: dict[str, Any] = {}
    decision: str | None = None
    reason: str | None = None
    rule: str | None = None
    answer: str | None = None
    answer_text: str | None = None


def account_of(records: Iterable[Record], call_id: str) -> CallAccount:
    """The account of a call; fields that are not in the log are absent."""
    account = CallAccount(call_id=call_id)
    asks: set[int] = set()
    for record in records:
        match payload := payload_of(record):
            case VerdictRecord(call_id=name) if name == call_id:
                account = msgspec.structs.replace(
                    account, decision=payload.decision, reason=payload.reason, rule=payload.rule
                )
            case ToolStartRecord(call_id=name) if name == call_id:
                account = msgspec.structs.replace(account, tool=payload.tool, input=payload.input)
            case MessageRecord(message=row) if row.ask is not None and row.call_id == call_id:
                asks.add(row.ts)
            case AnswerRecord(ts=ts) if ts in asks:
                account = msgspec.structs.replace(account, answer=payload.response, answer_text=payload.text)
            case _:
                pass
    return account
