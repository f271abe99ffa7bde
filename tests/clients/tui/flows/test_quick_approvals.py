"""When somebody says yes over and over without reading, a rule is proposed; never one that was not offered."""

from hypothesis import given
from hypothesis import strategies as st

from robota.clients.tui.flows.approval_keys import card_for, choices, press
from robota.clients.tui.flows.quick_approvals import LOOKED_BACK_S, MANY, QUICK_S, QuickApprovals
from robota.protocol.asks.answer import Approve
from robota.protocol.asks.ask import ApprovalAsk, ApprovalVerdict, OfferedRules


def ask(*rules: str) -> ApprovalAsk:
    offered = tuple(OfferedRules(rules=(rule,), covers="") for rule in rules)
    return ApprovalAsk(title="Bash", verdict=ApprovalVerdict(suggestions=offered))


def many(asked: ApprovalAsk, count: int, took: float = 1.0) -> QuickApprovals:
    quick = QuickApprovals()
    for number in range(count):
        quick = quick.approved(asked, shown_at=number - took, now=float(number))
    return quick


def test_many_quick_approvals_get_the_rule_that_would_have_given_most_of_them() -> None:
    asked = ask("Bash(npm test a)", "Bash(npm test:*)")
    quick = QuickApprovals()
    for number in range(41):
        quick = quick.approved(ask(f"Bash(npm test {number})", "Bash(npm test:*)"), float(number), float(number))
    proposal = quick.proposal(asked, 41.0)
    assert proposal is not None and proposal.rules == ("Bash(npm test:*)",)
    assert "41 quick approvals in 3 minutes" in proposal.words and "Bash(npm test:*)" in proposal.words
    card = card_for(asked, proposal=proposal)
    assert [row.key for row in choices(card)][:2] == ["y", "g"]
    assert press(card, "g") == Approve(grant=("Bash(npm test:*)",))
    assert press(card_for(asked), "g") == card_for(asked)


def test_few_slow_or_old_approvals_get_none() -> None:
    asked = ask("Edit")
    assert many(asked, MANY).proposal(asked, float(MANY)) is not None
    assert many(asked, MANY - 1).proposal(asked, float(MANY)) is None
    assert many(asked, MANY, took=QUICK_S + 1).proposal(asked, float(MANY)) is None
    assert many(asked, MANY).proposal(asked, MANY + LOOKED_BACK_S) is None
    assert many(asked, MANY).proposal(ask("Bash(other)"), float(MANY)) is None
    assert many(asked, MANY).proposal(ask(), float(MANY)) is None


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=3), max_size=20), st.lists(st.sampled_from("abcd"), max_size=3)
)
def test_only_rules_of_the_ask_itself_are_proposed(before: list[list[str]], now: list[str]) -> None:
    quick = QuickApprovals()
    for number, rules in enumerate(before):
        quick = quick.approved(ask(*rules), float(number), float(number))
    proposal = quick.proposal(ask(*now), float(len(before)))
    assert proposal is None or proposal.rules[0] in now
