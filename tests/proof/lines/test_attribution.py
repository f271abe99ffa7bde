"""From lines to changes: what an agent wrote is found through what people did since, and nothing else is."""

from hypothesis import given
from hypothesis import strategies as st

from robota.proof.lines.attribution import LineChange, attributed


def change(number: int, old: list[int], new: list[int], *, is_whole: bool = True) -> LineChange:
    added = frozenset(place for place, line in enumerate(new) if line not in old)
    return LineChange(number=number, old=tuple(old), new=tuple(new), added=added, is_whole=is_whole)


def origins(lines: list[int], *changes: LineChange, weight: int = 20) -> dict[int, int]:
    return attributed(tuple(lines), [weight] * len(lines), range(len(lines)), changes)


@given(st.data())
def test_every_line_of_a_file_with_unlike_lines_is_known(data: st.DataObject) -> None:
    """Agents and people take turns; each line remembers who wrote it."""
    version: list[int] = []
    author: dict[int, int] = {}
    changes: list[LineChange] = []
    fresh = iter(range(1, 10_000))
    for number in range(1, data.draw(st.integers(1, 8)) + 1):
        is_agent = data.draw(st.booleans())
        old = list(version)
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(version)))
            is_removal = data.draw(st.booleans())
            if version and is_removal:
                del version[min(place, len(version) - 1)]
            else:
                line = next(fresh)
                author[line] = number if is_agent else 0
                version.insert(place, line)
        if is_agent:
            changes.insert(0, change(number, old, version))
    expected = {place: author[line] for place, line in enumerate(version) if author[line]}
    assert origins(version, *changes) == expected


def test_two_branches_that_were_merged_keep_both_authors() -> None:
    base = [1, 2, 3, 4, 5, 6]
    one, other = [1, 20, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 30, 6]
    merged = [1, 20, 2, 3, 4, 5, 30, 6]
    assert origins(merged, change(2, base, other), change(1, base, one)) == {1: 1, 6: 2}


def test_a_part_of_a_file_says_nothing_about_the_rest() -> None:
    shown = change(1, [2, 3], [2, 9, 3], is_whole=False)
    assert origins([1, 2, 9, 3, 4], shown) == {2: 1}


def test_a_line_that_says_nothing_is_not_found_in_an_older_version() -> None:
    first = change(1, [4, 1, 2, 5], [4, 1, 7, 2, 5])
    second = change(2, [4, 1, 7, 2, 5], [1, 2])
    assert origins([1, 7, 2], second, first, weight=1) == {}
    assert origins([1, 7, 2], second, first, weight=20) == {1: 1}


def test_only_the_wanted_lines_are_looked_for() -> None:
    written = change(1, [], [1, 2, 3])
    assert attributed((1, 2, 3), [5, 5, 5], [1], [written]) == {1: 1}
