"""The progress of each intent, and work outside its scope."""

from collections.abc import Mapping, Sequence

import msgspec

from robota.intents.intent import Intent
from robota.intents.upkeep.criteria import CriterionRun, Runs
from robota.intents.upkeep.intent_costs import SpentOnIntent
from robota.intents.upkeep.traced_intents import TracedIntent


class IntentDrift(msgspec.Struct, frozen=True, kw_only=True):
    """One intent: `outside` are files changed for it that are not in its scope now; the criteria are commands."""

    intent: Intent
    files: int
    outside: tuple[str, ...]
    never_run: tuple[str, ...]
    failed: tuple[str, ...]
    sessions: int
    approvals: int
    requests: int
    cost: float
    is_cost_known: bool

    @property
    def has_drifted(self) -> bool:
        return bool(self.outside or self.never_run or self.failed)


def drift(
    intents: Sequence[Intent],
    traced: Mapping[str, TracedIntent],
    spent: Mapping[str, SpentOnIntent],
    runs: Runs,
) -> tuple[IntentDrift, ...]:
    """The drift of each intent, in order."""
    return tuple(
        _drift_of(intent, traced.get(intent.id), spent.get(intent.id), runs.get(intent.id, {})) for intent in intents
    )


def _drift_of(
    intent: Intent, traced: TracedIntent | None, spent: SpentOnIntent | None, runs: Mapping[str, CriterionRun]
) -> IntentDrift:
    files = {} if traced is None else traced.files
    sessions = (set() if traced is None else traced.sessions) | (set() if spent is None else spent.sessions)
    return IntentDrift(
        intent=intent,
        files=len(files),
        outside=tuple(sorted(path for path in files if not intent.scope.covers(path))),
        never_run=tuple(command for command in intent.commands if command not in runs),
        failed=tuple(command for command in intent.commands if command in runs and not runs[command].passed),
        sessions=len(sessions),
        approvals=0 if traced is None else len(traced.approved),
        requests=0 if spent is None else spent.requests,
        cost=0.0 if spent is None else spent.cost,
        is_cost_known=spent is None or spent.is_known,
    )
