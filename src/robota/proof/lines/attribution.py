"""Attributes the lines of a file to the changes that they came from, going back through known earlier versions.

A change is a version of a file before and after a call. What people did between two changes is not known, but shows
as lines that differ. So lines are followed by their content: as long as a line is found in a version, in its place
among the others, it is the same line, whoever moved, committed or rebased it meanwhile.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from robota.proof.lines.alignment import aligned
from robota.proof.lines.line_hashes import LineHashes

# A line that a newer version lacks is matched in an older one only in a stretch with at least this many letters.
LATE_WEIGHT: Final = 10
EVERYTHING: Final = 1_000_000_000


class LineChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file before and after a call. `added` are the positions in `new` of lines that `old` lacks.

    With `is_whole` these are whole versions of the file. Otherwise they are the changed stretches with some context,
    and the rest of the file is unknown.
    """

    number: int
    old: LineHashes
    new: LineHashes
    added: frozenset[int]
    is_whole: bool = True


class _Followed(msgspec.Struct):
    """The lines found in one version. `places` maps their numbers there to their numbers in the file."""

    version: LineHashes
    places: dict[int, int]


def attributed(
    lines: LineHashes,
    weights: Sequence[int],
    wanted: Collection[int],
    changes: Iterable[LineChange],
    least_weight: int = 0,
) -> dict[int, int]:
    """The number of the change that each wanted line came from, as far as there is one. The newest change comes first.

    Each stretch of lines that is found in a version must weigh `least_weight` at least.
    """
    origins: dict[int, int] = {}
    missed: set[int] = set()
    stretches = _Stretches(dict(zip(lines, weights, strict=True)), least_weight, missed)
    followed = [_Followed(version=lines, places={line: line for line in wanted})]
    for change in changes:
        moved = _Followed(version=change.old, places={})
        for each in followed:
            _follow(each, change, stretches, origins, moved)
        followed = [each for each in (*followed, moved) if each.places]
        if not followed:
            break
    return origins


class _Stretches(msgspec.Struct, frozen=True):
    """The weights of the stretches around lines."""

    weight_of: Mapping[int, int]
    least: int
    missed: set[int]

    def least_for(self, line: int, change: LineChange) -> int:
        """The weight that the stretch around this line needs to count."""
        return max(self.least, LATE_WEIGHT) if line in self.missed or not change.is_whole else self.least


def _follow(
    each: _Followed, change: LineChange, stretches: _Stretches, found: dict[int, int], moved: _Followed
) -> None:
    new_lines = set(change.new)
    if not any(each.version[place] in new_lines for place in each.places):
        if change.is_whole:
            stretches.missed.update(each.places.values())
        return
    places = aligned(each.version, change.new)
    back = aligned(change.new, change.old) if change.is_whole else []
    for place, line in list(each.places.items()):
        there = places[place]
        least = stretches.least_for(line, change)
        if there is None or (
            least and _stretch_weight(each.version, places, place, change, stretches.weight_of) < least
        ):
            if change.is_whole:
                stretches.missed.add(line)
            continue
        if there in change.added:
            found[line] = change.number
            del each.places[place]
        elif change.is_whole and (before := back[there]) is not None:
            moved.places[before] = line
            del each.places[place]


def _stretch_weight(
    version: LineHashes, places: Sequence[int | None], place: int, change: LineChange, weight_of: Mapping[int, int]
) -> int:
    """The weight of the longest stretch around a line that is contiguous in both versions.

    A stretch that is the whole other version always weighs enough.
    """
    at = places[place]
    assert at is not None
    start = end = place
    while start > 0 and places[start - 1] == at - (place - start) - 1:
        start -= 1
    while end + 1 < len(places) and places[end + 1] == at + (end - place) + 1:
        end += 1
    if end - start + 1 == len(change.new):
        return EVERYTHING
    return sum(weight_of.get(line, 0) for line in version[start : end + 1])
