"""What policy says of a call, and what it is told about it."""

from enum import StrEnum

import msgspec

from robota.contracts.tool import Effect, Touches


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A decision with its reason in words and the rule that made it, if one did."""

    decision: Decision
    reason: str
    rule: str | None = None


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A call as policy sees it."""

    tool: str
    label: str
    effects: frozenset[Effect]
    touches: Touches
    mode: str
