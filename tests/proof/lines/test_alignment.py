"""Which lines of two versions are the same."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from robota.proof.lines.alignment import aligned

VERSIONS = st.lists(st.integers(0, 6), max_size=30)


@given(VERSIONS, VERSIONS)
def test_only_equal_lines_are_paired_and_in_order(first: list[int], second: list[int]) -> None:
    places = aligned(first, second)
    assert len(places) == len(first)
    pairs = [(here, there) for here, there in enumerate(places) if there is not None]
    assert all(first[here] == second[there] for here, there in pairs)
    assert [there for _, there in pairs] == sorted({there for _, there in pairs})


@given(VERSIONS)
def test_a_version_is_itself(version: list[int]) -> None:
    assert aligned(version, list(version)) == list(range(len(version)))


@given(st.lists(st.integers(0), unique=True, max_size=40), st.data())
def test_what_was_put_in_between_hides_nothing(lines: list[int], data: st.DataObject) -> None:
    grown = list(lines)
    for number in range(data.draw(st.integers(0, 5))):
        grown.insert(data.draw(st.integers(0, len(grown))), -1 - number)
    places = aligned(lines, grown)
    assert [grown[there] for there in places if there is not None] == lines


def test_repeated_lines_beyond_every_budget_are_left_alone() -> None:
    first, second = [1, 2] * 3_000 + [3], [2, 1] * 3_000 + [4]
    assert Counter(there is None for there in aligned(first, second))[True] >= 1
