"""The input and the output of policy: a call as a `Subject`, and the `Verdict` about it."""

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from robota.contracts.tool import Effect, Touches
from robota.protocol.views import DiffView

if TYPE_CHECKING:
    from robota.workspace.entry_files.entry import PinnedFile


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
    """Rules that, granted together, would stop this question. `covers` says what else they allow."""

    rules: tuple[str, ...]
    covers: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A decision with its reason in words and the rule that made it, if one did.

    `steps` are the stages it went through; the last one decided. `parts` are there for a shell command,
    `suggestions`, narrowest first, for an ask that a rule could answer. `wanted_by_hook`: a hook requires
    approval too, so neither a rule nor a mode can answer it. `advice` is how the user can permit the call next time; it
    is never told to the model, which would take it as a way around the denial. `no_rule` is why an ask has no
    suggestions, as words to follow a colon. `pinned` are files that the command must find as they are now, because a
    rule allows it only with them; `changed` is what differs in such files since the user allowed the same words.
    """

    decision: Decision
    reason: str
    rule: str | None = None
    parts: tuple[PartVerdict, ...] = ()
    suggestions: tuple[RuleSuggestion, ...] = ()
    steps: tuple[str, ...] = ()
    wanted_by_hook: bool = False
    advice: str = ""
    no_rule: str = ""
    pinned: "tuple[PinnedFile, ...]" = ()
    changed: "tuple[DiffView, ...]" = ()


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A call as policy sees it."""

    tool: str
    label: str
    effects: frozenset[Effect]
    touches: Touches
    mode: str
