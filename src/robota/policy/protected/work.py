"""How much may be looked up to judge one call. Counted in steps, so that the answer is the same on every machine."""

from functools import cache
from typing import Final

from robota.policy.protected.path_resolver import PathResolver

# About as long as comparing a path with a pattern of a rule; all of them together take less than a tenth of a second.
MOST_STEPS: Final = 4_000
STEPS_OF_LOCATION: Final = 4
# A pattern makes the names of whole directories be read.
STEPS_OF_PATTERN: Final = 100
STEPS_OF_COMMAND: Final = 6


class TooMuchWork(Exception):
    """Judging the call would take too long."""


class Work:
    """Counts the steps of one decision."""

    def __init__(self) -> None:
        self._steps = 0

    def spend(self, steps: int) -> None:
        """Count some. Raises `TooMuchWork`."""
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise TooMuchWork


class MeasuredResolver(PathResolver, frozen=True, kw_only=True):
    """Looks each word up once."""

    work: Work
    known: dict[tuple[str, str], tuple[str, ...]]

    def locations(self, word: str, directory: str = ".") -> tuple[str, ...]:
        """As those of any resolver. Raises `TooMuchWork` when there are too many."""
        key = (word, directory)
        found = self.known.get(key)
        if found is None:
            self.work.spend(STEPS_OF_LOCATION)
            found = self.known[key] = super().locations(word, directory)
        return found

    def matches(self, path: str, pattern: str, *, broadly: bool) -> bool:
        """As that of any resolver. Raises `TooMuchWork` when it was asked too often."""
        self.work.spend(1)
        return super().matches(path, pattern, broadly=broadly)


def measured(resolver: PathResolver) -> MeasuredResolver:
    """The same resolver for one decision."""
    work = Work()

    @cache
    def matching(directory: str, pattern: str) -> tuple[str, ...]:
        work.spend(STEPS_OF_PATTERN)
        found = resolver.matching(directory, pattern)
        work.spend(len(found) * STEPS_OF_LOCATION)
        return found

    return MeasuredResolver(
        root=resolver.root, home=resolver.home, real=resolver.real, matching=matching, work=work, known={}
    )
