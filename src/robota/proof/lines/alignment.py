"""Aligns the lines of two versions of a file."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

# With more pairs of equal lines, an exact comparison takes too long.
MAX_WORK: Final = 2_000_000

Ranges = tuple[int, int, int, int]


def aligned(first: Sequence[int], second: Sequence[int]) -> list[int | None]:
    """For each line of the first version the number of the same line in the second, ascending; None if it is gone."""
    matches: list[int | None] = [None] * len(first)
    if first == second:
        return list(range(len(first)))
    waiting: list[Ranges] = [(0, len(first), 0, len(second))]
    while waiting:
        ranges = _trimmed(first, second, waiting.pop(), matches)
        start, end, other_start, other_end = ranges
        if start == end or other_start == other_end:
            continue
        anchors = _anchors(first, second, ranges)
        if not anchors:
            _compare_closely(first, second, ranges, matches)
            continue
        for here, there in [*anchors, (end, other_end)]:
            waiting.append((start, here, other_start, there))
            if here < end:
                matches[here] = there
            start, other_start = here + 1, there + 1
    return matches


def _trimmed(first: Sequence[int], second: Sequence[int], ranges: Ranges, matches: list[int | None]) -> Ranges:
    """The range without the equal lines at both ends, which are recorded as matches."""
    start, end, other_start, other_end = ranges
    while start < end and other_start < other_end and first[start] == second[other_start]:
        matches[start] = other_start
        start, other_start = start + 1, other_start + 1
    while start < end and other_start < other_end and first[end - 1] == second[other_end - 1]:
        end, other_end = end - 1, other_end - 1
        matches[end] = other_end
    return start, end, other_start, other_end


def _anchors(first: Sequence[int], second: Sequence[int], ranges: Ranges) -> list[tuple[int, int]]:
    """Lines that occur once in both versions: the longest series in the same order."""
    start, end, other_start, other_end = ranges
    here, there = Counter(first[start:end]), Counter(second[other_start:other_end])
    once = {second[at]: at for at in range(other_start, other_end) if there[second[at]] == 1}
    pairs = [(at, once[first[at]]) for at in range(start, end) if here[first[at]] == 1 and first[at] in once]
    return _longest_ascending(pairs)


def _longest_ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of the pairs, which ascend in the first number, that also ascends in the second."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, there) in enumerate(pairs):
        index = bisect_left(tops, there)
        before.append(ends[index - 1] if index else -1)
        tops[index : index + 1] = [there]
        ends[index : index + 1] = [number]
    chosen: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chosen.append(pairs[at])
        at = before[at]
    return chosen[::-1]


def _compare_closely(first: Sequence[int], second: Sequence[int], ranges: Ranges, matches: list[int | None]) -> None:
    start, end, other_start, other_end = ranges
    here, there = first[start:end], second[other_start:other_end]
    often = Counter(there)
    if sum(often[line] for line in here) > MAX_WORK:
        return
    for block in SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            matches[start + block.a + step] = other_start + block.b + step
