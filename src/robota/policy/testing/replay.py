"""Evaluates the calls of past sessions against other rules."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from robota.contracts.verdict import Decision, Verdict
from robota.log.kinds.calls import AnswerRecord, ToolStartRecord, VerdictRecord
from robota.log.kinds.conversation import MessageRecord, TurnRecord
from robota.log.kinds.session import SessionHeader
from robota.log.record import Payload, Record, payload_of
from robota.policy.testing.fewest_rules import SparingRules, fewest_rules
from robota.policy.unattended import NOBODY
from robota.protocol.conversation import AssistantTurn
from robota.protocol.permission_mode import PermissionMode

YES = "yesButtonClicked"
# The user approved something other than what was asked: some hunks, or another command.
CHANGED = "objectResponse"
HOOK = "hook"


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that policy judged in the past. `input` is None if the log does not contain it.

    `said_yes` is the user's answer; None if there was none. With `is_asked_by_hook`, a hook or the intents required
    approval, which no rule can replace. `user_words` is what the user had typed in the task until then.
    """

    session: str
    tool: str
    input: dict[str, Any] | None
    decision: Decision
    permission_mode: PermissionMode
    said_yes: bool | None = None
    is_asked_by_hook: bool = False
    user_words: tuple[str, ...] = ()


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """A call for which other rules would have given another verdict."""

    call: RecordedCall
    verdict: Verdict


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """`unknown` are calls that cannot be judged again, because their tool or arguments are no longer known.

    `before` and `now` count the decisions about the others. `answered_yes` are the questions that would still be asked
    and that the user answered with yes; `sparing` are rules that would have avoided them. `refused_allowed` are calls
    that the user refused and that would now be allowed, without the `sparing` rules.
    """

    calls: int
    changed: tuple[Changed, ...]
    unknown: int
    before: dict[str, int] = {}
    now: dict[str, int] = {}
    answered_yes: int = 0
    sparing: SparingRules = SparingRules()
    refused_allowed: int = 0


# The verdict about a call under other rules plus these; None if it cannot be judged any more.
JudgeAgain = Callable[[RecordedCall, Sequence[str]], Verdict | None]


def recorded_calls(session: str, records: Iterable[Record]) -> tuple[RecordedCall, ...]:
    """Every call of a session that policy judged, in order."""
    payloads = [payload for record in records if (payload := payload_of(record)) is not None]
    inputs, answers = _inputs(payloads), _answers(payloads)
    calls: list[RecordedCall] = []
    mode, words = PermissionMode.DEFAULT, dict[str, list[str]]()
    for payload in payloads:
        if isinstance(payload, MessageRecord) and _is_typed(payload, words):
            words.setdefault(payload.task_id, []).append(payload.message.text or "")
        if isinstance(payload, SessionHeader):
            mode = payload.permission_mode
        elif isinstance(payload, VerdictRecord) and payload.decision in set(Decision):
            key = (payload.task_id, payload.call_id)
            decision = _as_judged(payload)
            calls.append(
                RecordedCall(
                    session=session,
                    tool=payload.tool,
                    input=inputs.get(key),
                    decision=decision,
                    permission_mode=mode,
                    said_yes=answers.get(key) if decision is Decision.ASK else None,
                    is_asked_by_hook=decision is Decision.ASK and payload.rule == HOOK,
                    user_words=tuple(words.get(payload.task_id, ())),
                )
            )
    return tuple(calls)


def replay(calls: Iterable[RecordedCall], judge: JudgeAgain) -> Replayed:
    """Judge every call again."""
    judge = _with_hooks(judge)
    count = unknown = 0
    changed: list[Changed] = []
    before: Counter[str] = Counter()
    now: Counter[str] = Counter()
    asked: list[tuple[RecordedCall, Verdict]] = []
    refused: list[tuple[RecordedCall, Verdict]] = []
    for call in calls:
        count += 1
        verdict = None if call.input is None else judge(call, ())
        if verdict is None:
            unknown += 1
            continue
        before[call.decision] += 1
        now[verdict.decision] += 1
        if verdict.decision is not call.decision:
            changed.append(Changed(call=call, verdict=verdict))
        if call.said_yes is False:
            refused.append((call, verdict))
        elif call.said_yes and verdict.decision is Decision.ASK:
            asked.append((call, verdict))
    return Replayed(
        calls=count,
        changed=tuple(changed),
        unknown=unknown,
        before=dict(before),
        now=dict(now),
        answered_yes=len(asked),
        sparing=_sparing(asked, [call for call, _ in refused], judge),
        refused_allowed=sum(verdict.decision is Decision.ALLOW for _, verdict in refused),
    )


def _with_hooks(judge: JudgeAgain) -> JudgeAgain:
    """Keep the asks that hooks and intents required, unless the call is denied."""

    def judge_again(call: RecordedCall, rules: Sequence[str]) -> Verdict | None:
        verdict = judge(call, rules)
        if verdict is None or not call.is_asked_by_hook or verdict.decision is Decision.DENY:
            return verdict
        return Verdict(decision=Decision.ASK, reason="A hook or the intents require approval.", rule=HOOK)

    return judge_again


def _sparing(
    asked: Sequence[tuple[RecordedCall, Verdict]], refused: Sequence[RecordedCall], judge: JudgeAgain
) -> SparingRules:
    """The fewest of the rules that were suggested with the questions.

    Rules apply in every permission mode, so refused calls are judged in all modes of the questions. Calls that are
    allowed in a mode without any rule are ignored there.
    """
    modes = {call.permission_mode for call, _ in asked}
    kept_out = [
        other
        for call in refused
        for mode in modes
        if not _is_allowed(other := msgspec.structs.replace(call, permission_mode=mode), (), judge)
    ]

    def lets_through(rules: frozenset[str]) -> bool:
        return any(_is_allowed(call, sorted(rules), judge) for call in kept_out)

    options = [[frozenset(each.rules) for each in verdict.suggestions] for _, verdict in asked]
    return fewest_rules(options, lets_through)


def _is_allowed(call: RecordedCall, rules: Sequence[str], judge: JudgeAgain) -> bool:
    verdict = judge(call, rules)
    return verdict is not None and verdict.decision is Decision.ALLOW


def _inputs(payloads: Iterable[Payload]) -> dict[tuple[str, str], dict[str, Any]]:
    """The input of each call: as the model wrote it or, preferably, as it ran."""
    inputs: dict[tuple[str, str], dict[str, Any]] = {}
    for payload in payloads:
        if isinstance(payload, TurnRecord) and isinstance(payload.turn, AssistantTurn):
            for use in payload.turn.tool_uses:
                inputs.setdefault((payload.task_id, use.id), use.input)
        elif isinstance(payload, ToolStartRecord):
            inputs[payload.task_id, payload.call_id] = payload.input
    return inputs


def _is_typed(payload: MessageRecord, words: dict[str, list[str]]) -> bool:
    """Whether the user typed the row: the first of a task, or feedback."""
    say = payload.message.say
    return say == "user_feedback" or (say == "text" and payload.task_id not in words)


def _answers(payloads: Iterable[Payload]) -> dict[tuple[str, str], bool]:
    """Whether the user approved each call. There may be several questions about a call; one refusal is a refusal."""
    asked: dict[int, tuple[str, str]] = {}
    answers: dict[tuple[str, str], bool] = {}
    for payload in payloads:
        if isinstance(payload, MessageRecord) and payload.message.ask is not None and payload.message.call_id:
            asked[payload.message.ts] = (payload.task_id, payload.message.call_id)
        elif isinstance(payload, AnswerRecord) and payload.ts in asked and payload.response != CHANGED:
            call = asked[payload.ts]
            answers[call] = answers.get(call, True) and payload.response == YES
    return answers


def _as_judged(payload: VerdictRecord) -> Decision:
    """A denial that was issued only because no user was available counts as an ask."""
    return Decision.ASK if NOBODY in payload.reason else Decision(payload.decision)
