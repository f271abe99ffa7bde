"""Propose a rule when the user approves many requests in quick succession, probably without reading them."""

from collections import Counter
from typing import Final

import msgspec

from robota.protocol.asks.ask import ApprovalAsk

LOOKED_BACK_S: Final = 180.0
# An answer before this time was given without reading.
QUICK_S: Final = 3.0
MANY: Final = 8


class QuickApproval(msgspec.Struct, frozen=True, kw_only=True):
    """A quick yes: when it was given, and the sets of rules that would have allowed the call."""

    at: float
    offered: frozenset[tuple[str, ...]]


class RuleProposal(msgspec.Struct, frozen=True, kw_only=True):
    """Rules that would have answered `answered` of the `approvals` quick approvals of the last minutes."""

    rules: tuple[str, ...]
    approvals: int
    answered: int

    @property
    def words(self) -> str:
        """The reason for the proposal, and what it would grant."""
        minutes = int(LOOKED_BACK_S // 60)
        count = f"{self.approvals} quick approvals in {minutes} minutes"
        return f"yes, and stop asking in this session ({count}, {self.answered} for this): {' '.join(self.rules)}"


class QuickApprovals(msgspec.Struct, frozen=True, kw_only=True):
    """The quick approvals of the last minutes, the oldest first."""

    given: tuple[QuickApproval, ...] = ()

    def approved(self, asked: ApprovalAsk, shown_at: float, now: float) -> "QuickApprovals":
        """After a yes without a rule. One that took its time was thought about and does not count."""
        kept = tuple(each for each in self.given if now - each.at <= LOOKED_BACK_S)
        if now - shown_at > QUICK_S:
            return QuickApprovals(given=kept)
        offered = frozenset(each.rules for each in asked.verdict.suggestions)
        return QuickApprovals(given=(*kept, QuickApproval(at=now, offered=offered)))

    def proposal(self, asked: ApprovalAsk, now: float) -> RuleProposal | None:
        """The suggested rules that would have answered most quick approvals; on a tie, the first and narrowest."""
        recent = [each for each in self.given if now - each.at <= LOOKED_BACK_S]
        if len(recent) < MANY or not asked.verdict.suggestions:
            return None
        counts = Counter(rules for each in recent for rules in each.offered)
        best = max((each.rules for each in asked.verdict.suggestions), key=lambda rules: counts[rules])
        if counts[best] * 2 < len(recent):
            return None
        return RuleProposal(rules=best, approvals=len(recent), answered=counts[best])
