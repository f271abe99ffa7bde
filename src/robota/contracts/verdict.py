"""The decision of policy about a call, and the call as policy is given it."""

from enum import StrEnum

import msgspec

from robota.contracts.tool import Effect, Touches


class Decision(StrEnum):
    """What policy decides about a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class PartVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The decision about one simple command of a shell script."""

    text: str
    decision: Decision
    reason: str
    rule: str | None = None


class RuleSuggestion(msgspec.Struct, frozen=True, kw_only=True):
    """Rules that, allowed together, would stop this question. `covers` says in words what else they let through."""

    rules: tuple[str, ...]
    covers: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A decision with its reason in words and the rule that made it, if one did.

    `steps` are the stages it went through; the last one decided. `parts` are there for a shell command,
    `suggestions`, the narrowest first, for a question that a rule could answer. `wanted_by_hook`: a hook wants a
    person, too, so no rule and no mode spares the question.
    """

    decision: Decision
    reason: str
    rule: str | None = None
    parts: tuple[PartVerdict, ...] = ()
    suggestions: tuple[RuleSuggestion, ...] = ()
    steps: tuple[str, ...] = ()
    wanted_by_hook: bool = False


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A call as policy sees it."""

    tool: str
    label: str
    effects: frozenset[Effect]
    touches: Touches
    mode: str
