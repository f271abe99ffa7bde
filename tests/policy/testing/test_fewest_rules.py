"""The fewest rules that would have spared questions: as few as trying everything finds, and never a refused call."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from robota.policy.testing.fewest_rules import Rules, fewest_rules

RULES = "abcde"
CHOICES = st.lists(st.frozensets(st.sampled_from(RULES), min_size=1, max_size=2), min_size=1, max_size=3)


@given(st.lists(CHOICES, max_size=6))
def test_as_few_as_trying_everything_finds(options: list[list[Rules]]) -> None:
    found = fewest_rules(options, lambda rules: False)
    assert found.spared == len(options) and found.is_fewest
    sizes = (
        size
        for size in range(len(RULES) + 1)
        for chosen in combinations(RULES, size)
        if all(any(each <= set(chosen) for each in choices) for choices in options)
    )
    assert len(found.rules) == next(sizes)


@given(st.lists(CHOICES, max_size=6), st.frozensets(st.sampled_from(RULES), min_size=1))
def test_nothing_that_was_refused_is_let_through(options: list[list[Rules]], dangerous: Rules) -> None:
    """A refused call would run if all of the dangerous rules held together."""
    found = fewest_rules(options, lambda rules: dangerous <= rules)
    assert not dangerous <= set(found.rules)


def test_one_wide_rule_is_preferred_to_many_narrow_ones_unless_it_is_dangerous() -> None:
    options = [[frozenset({f"Bash(make {each})"}), frozenset({"Bash(make *)"})] for each in ("a", "b", "c")]
    assert fewest_rules(options, lambda rules: False).rules == ("Bash(make *)",)
    narrow = fewest_rules(options, lambda rules: "Bash(make *)" in rules)
    assert narrow.rules == ("Bash(make a)", "Bash(make b)", "Bash(make c)") and narrow.spared == 3


def test_hundreds_of_questions_end() -> None:
    options = [[frozenset({f"r{number}"}), frozenset({f"w{number % 40}", "x"})] for number in range(300)]
    found = fewest_rules(options, lambda rules: False)
    assert found.spared == 300 and len(found.rules) <= 41
