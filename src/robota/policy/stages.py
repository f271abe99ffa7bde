"""A decision is made by the first of several stages that has an opinion."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from robota.contracts.verdict import Decision, Verdict
from robota.policy.context import PolicyContext

T = TypeVar("T")
Stage = tuple[str, Callable[[T, PolicyContext], Verdict | None]]


def first_opinion(stages: Sequence[Stage[T]], matter: T, context: PolicyContext) -> Verdict:
    """The verdict of the first stage that gives one, with the names of all that were asked."""
    names: list[str] = []
    for name, stage in stages:
        names.append(name)
        verdict = stage(matter, context)
        if verdict is not None:
            return msgspec.structs.replace(verdict, steps=tuple(names))
    return deny("No stage of the policy knows what to say.")


def allow(reason: str, rule: str | None = None) -> Verdict:
    return Verdict(decision=Decision.ALLOW, reason=reason, rule=rule)


def ask(reason: str, rule: str | None = None) -> Verdict:
    return Verdict(decision=Decision.ASK, reason=reason, rule=rule)


def deny(reason: str, rule: str | None = None) -> Verdict:
    return Verdict(decision=Decision.DENY, reason=reason, rule=rule)
