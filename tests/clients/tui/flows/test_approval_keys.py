"""Keys at a request for approval: nothing answers but what was shown."""

from hypothesis import given
from hypothesis import strategies as st

from robota.clients.tui.flows.approval_keys import ApprovalCard, CardAction, CardStep, card_for, choices, press
from robota.protocol.asks.answer import Answer, Approve, ApproveHunks, GrantScope, Reject
from robota.protocol.asks.ask import ApprovalAsk, ApprovalVerdict, EditableField, OfferedRules

RULES = (
    OfferedRules(rules=("Bash(npm test)",), covers="exactly this command"),
    OfferedRules(rules=("Bash(npm *)",), covers="everything that npm does"),
)
PLAIN = ApprovalAsk(title="Bash npm test")
FULL = ApprovalAsk(
    title="Edit a",
    verdict=ApprovalVerdict(suggestions=RULES),
    editable=EditableField(name="command", text="npm test"),
    choosable_hunks=3,
)
KEYS = st.sampled_from([*"yandrhewbspu123456789?x", "up", "down", "enter", "space", "escape", "tab", "ctrl-o", "é", ""])


def pressed(asked: ApprovalAsk, *keys: str) -> ApprovalCard | Answer | CardAction:
    card = card_for(asked)
    for key in keys[:-1]:
        after = press(card, key)
        assert isinstance(after, ApprovalCard), (key, after)
        card = after
    return press(card, keys[-1])


def test_the_usual_keys() -> None:
    assert pressed(PLAIN, "y") == pressed(PLAIN, "1") == Approve()
    assert pressed(PLAIN, "n") == pressed(PLAIN, "3") == pressed(PLAIN, "d") == Reject()
    assert pressed(FULL, "a") == pressed(FULL, "2") == Approve(grant=("Bash(npm test)",))
    assert pressed(FULL, "e") is CardAction.EDIT
    assert pressed(PLAIN, "w") is CardAction.SAY_WORDS
    assert pressed(PLAIN, "escape") is CardAction.STOP_TURN
    assert pressed(FULL, "r", "escape", "escape") is CardAction.STOP_TURN


def test_what_is_not_offered_is_not_taken() -> None:
    assert pressed(PLAIN, "a") == pressed(PLAIN, "e") == pressed(PLAIN, "h") == card_for(PLAIN)


def test_enter_alone_answers_nothing() -> None:
    assert pressed(FULL, "enter") == card_for(FULL)
    assert pressed(FULL, "down", "enter") == Approve()
    assert pressed(FULL, "up", "up", "up", "up", "up", "enter") == Reject()


def test_another_rule_for_longer() -> None:
    assert pressed(FULL, "r", "down", "p") == Approve(grant=("Bash(npm *)",), grant_scope=GrantScope.PROJECT)
    assert pressed(FULL, "r", "u") == Approve(grant=("Bash(npm test)",), grant_scope=GrantScope.USER)
    assert pressed(FULL, "r", "enter") == Approve(grant=("Bash(npm test)",))


def test_hunks_are_chosen_one_by_one() -> None:
    assert pressed(FULL, "h", "2", "y") == ApproveHunks(hunks=(0, 2))
    assert pressed(FULL, "h", "down", "space", "enter") == ApproveHunks(hunks=(0, 2))
    assert pressed(FULL, "h", "1", "1", "y") == Approve()
    assert pressed(FULL, "h", "1", "2", "3", "y") == Reject()
    assert pressed(FULL, "h", "9", "b", "y") == Approve()


@given(keys=st.lists(KEYS, max_size=12), asked=st.sampled_from([PLAIN, FULL]))
def test_no_keys_raise_or_answer_what_was_not_on_the_card(keys: list[str], asked: ApprovalAsk) -> None:
    card = card_for(asked)
    for key in keys:
        shown = card
        after = press(card, key)
        if isinstance(after, ApprovalCard):
            card = after
            continue
        if isinstance(after, Approve | ApproveHunks):
            offered = {rule for each in asked.verdict.suggestions for rule in each.rules}
            assert set(getattr(after, "grant", ())) <= offered
            is_key = (
                key in {row.key for row in choices(card_for(asked))} | {"1", "2"} and shown.step is CardStep.ANSWERS
            )
            is_chosen = key == "enter" and shown.rows.index is not None
            assert is_key or is_chosen or shown.step is not CardStep.ANSWERS
        return
