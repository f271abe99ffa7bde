"""Which files and symbols of a repository matter most: those that much is built on.

A file that uses a name votes for the files that define it, as in PageRank. Names that more than a few files define say
nothing about where to look, and would make most of the votes, so they have none.
"""

from array import array
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import sqrt
from typing import Final

import msgspec

from robota.workspace.code.symbol import FileSymbols

MAX_DEFINERS: Final = 5
ROUNDS: Final = 30
DAMPING: Final = 0.85
# A private name tells less about a file; so does a plain word, because methods of libraries have the same names.
VAGUE_WEIGHT: Final = 0.1
MIN_TELLING: Final = 3


class Ranking(msgspec.Struct, frozen=True):
    """The weight of each file, and of each name that others use in the files that define it."""

    files: dict[str, float]
    names: dict[str, dict[str, float]]


class Votes(msgspec.Struct, frozen=True):
    """The votes as columns, because there are many: who votes for whom, how much, and because of which name."""

    users: Sequence[int]
    definers: Sequence[int]
    weights: Sequence[float]
    names: Sequence[str]


def rank(symbols: Mapping[str, FileSymbols], focus: Collection[str] = ()) -> Ranking:
    """Rank the files of a repository; `focus` are those that the work is about."""
    paths = sorted(symbols)
    votes = _votes(symbols, paths)
    given = _shares(len(paths), votes)
    begin = _begin(paths, focus)
    scores = begin
    for _ in range(ROUNDS):
        scores = _next(scores, begin, votes, given)
    names: dict[str, dict[str, float]] = defaultdict(dict)
    for user, definer, share, name in zip(votes.users, votes.definers, given, votes.names, strict=True):
        received = names[paths[definer]]
        received[name] = received.get(name, 0.0) + scores[user] * share
    return Ranking(dict(zip(paths, scores, strict=True)), dict(names))


def _next(scores: list[float], begin: list[float], votes: Votes, shares: Sequence[float]) -> list[float]:
    """One round: every file gives its score to those it votes for. Files without a vote give theirs to all."""
    received = [0.0] * len(scores)
    for user, definer, share in zip(votes.users, votes.definers, shares, strict=True):
        received[definer] += scores[user] * share
    spread = 1.0 - DAMPING * sum(received)
    return [DAMPING * each + spread * part for each, part in zip(received, begin, strict=True)]


def _votes(symbols: Mapping[str, FileSymbols], paths: Sequence[str]) -> Votes:
    defining: dict[str, list[int]] = defaultdict(list)
    for number, path in enumerate(paths):
        for name in {each.name for each in symbols[path].definitions}:
            defining[name].append(number)
    users, definers, weights = array("l"), array("l"), array("d")
    names: list[str] = []
    for user, path in enumerate(paths):
        for name, count in symbols[path].uses.items():
            there = defining.get(name, ())
            if not 0 < len(there) <= MAX_DEFINERS or user in there:
                continue
            for definer in there:
                users.append(user)
                definers.append(definer)
                weights.append(_weight(name) * sqrt(count) / len(there))
                names.append(name)
    return Votes(users, definers, weights, names)


def _shares(files: int, votes: Votes) -> Sequence[float]:
    """Each vote as a share of all votes of its file."""
    totals = [0.0] * files
    for user, weight in zip(votes.users, votes.weights, strict=True):
        totals[user] += weight
    return array("d", (weight / totals[user] for user, weight in zip(votes.users, votes.weights, strict=True)))


def _begin(paths: Sequence[str], focus: Collection[str]) -> list[float]:
    chosen = [path in focus for path in paths]
    count = sum(chosen)
    return [each / count if count else 1 / len(paths) for each in chosen]


def _weight(name: str) -> float:
    is_plain = name.islower() and "_" not in name
    return VAGUE_WEIGHT if is_plain or name.startswith("_") or len(name) < MIN_TELLING else 1.0
