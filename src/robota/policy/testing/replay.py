"""The calls of past sessions, and what other rules would have said of them."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from robota.contracts.verdict import Decision, Verdict
from robota.log.kinds.calls import ToolStartRecord, VerdictRecord
from robota.log.kinds.conversation import TurnRecord
from robota.log.kinds.session import SessionHeader
from robota.log.record import Payload, PayloadError, Record, payload_of
from robota.policy.unattended import NOBODY
from robota.protocol.conversation import AssistantTurn
from robota.protocol.permission_mode import PermissionMode


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that policy once judged. `input` is None if the log does not say what it was called with."""

    session: str
    tool: str
    input: dict[str, Any] | None
    decision: Decision
    permission_mode: PermissionMode


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """A call that other rules would have judged otherwise."""

    call: RecordedCall
    verdict: Verdict


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """`unknown` are calls that cannot be judged again: their tool or their arguments are not known any more."""

    calls: int
    changed: tuple[Changed, ...]
    unknown: int


def recorded_calls(session: str, records: Iterable[Record]) -> tuple[RecordedCall, ...]:
    """Every call of a session that came before policy, in order."""
    payloads = [payload for record in records if (payload := _payload(record)) is not None]
    inputs = _inputs(payloads)
    calls: list[RecordedCall] = []
    mode = PermissionMode.DEFAULT
    for payload in payloads:
        if isinstance(payload, SessionHeader):
            mode = payload.permission_mode
        elif isinstance(payload, VerdictRecord) and payload.decision in set(Decision):
            calls.append(
                RecordedCall(
                    session=session,
                    tool=payload.tool,
                    input=inputs.get((payload.task_id, payload.call_id)),
                    decision=_as_judged(payload),
                    permission_mode=mode,
                )
            )
    return tuple(calls)


def replay(calls: Iterable[RecordedCall], judge: Callable[[RecordedCall], Verdict | None]) -> Replayed:
    """Judge every call again. `judge` answers None for a call that cannot be judged any more."""
    count = unknown = 0
    changed: list[Changed] = []
    for call in calls:
        count += 1
        verdict = None if call.input is None else judge(call)
        if verdict is None:
            unknown += 1
        elif verdict.decision is not call.decision:
            changed.append(Changed(call=call, verdict=verdict))
    return Replayed(calls=count, changed=tuple(changed), unknown=unknown)


def _payload(record: Record) -> Payload | None:
    try:
        return payload_of(record)
    except PayloadError:
        return None


def _inputs(payloads: Iterable[Payload]) -> dict[tuple[str, str], dict[str, Any]]:
    """What each call was made with: as the model wrote it, and better, as it was run."""
    inputs: dict[tuple[str, str], dict[str, Any]] = {}
    for payload in payloads:
        if isinstance(payload, TurnRecord) and isinstance(payload.turn, AssistantTurn):
            for use in payload.turn.tool_uses:
                inputs.setdefault((payload.task_id, use.id), use.input)
        elif isinstance(payload, ToolStartRecord):
            inputs[payload.task_id, payload.call_id] = payload.input
    return inputs


def _as_judged(payload: VerdictRecord) -> Decision:
    """A denial only because nobody was there to be asked was an ask."""
    return Decision.ASK if NOBODY in payload.reason else Decision(payload.decision)
