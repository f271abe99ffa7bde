"""What is kept from the model, and which files there are that a command would come across."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

import msgspec

from robota.policy.protected.path_resolver import Work, secret_pattern
from robota.workspace.files.secret_names import SECRETS

# What every name that a pattern fits has in it: the longest piece between its stars.
HINTS: Final = tuple(dict.fromkeys(max(pattern.split("*"), key=len).rstrip(".").casefold() for pattern in SECRETS))

# For each of them the index of git is looked through.
MOST_COMPARED_WITH_GIT: Final = 100
STEPS_OF_PUBLISHED: Final = 15


class KeptFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Looks up what policy must know of the files in the workspace. Paths are those from its root on.

    `is_ignored` and `ignores_any` speak of `.robotaignore`. `below` names the files below a directory, `tracked` those
    that git has in its index; both say None where there are too many or nobody can tell. Where they are missing,
    nothing is known. `published` says of a file that git tracks it and that it is as git has it.
    """

    is_ignored: Callable[[str], bool] = lambda place: False
    ignores_any: Callable[[], bool] = lambda: False
    below: Callable[[str], tuple[str, ...] | None] | None = None
    tracked: Callable[[], tuple[str, ...] | None] | None = None
    published: Callable[[str], bool] = lambda place: False

    def secret_pattern(self, place: str) -> str | None:
        """The pattern of the secret that a file is by its name; what is published with the project is none."""
        pattern = secret_pattern(place)
        return None if pattern is None or self.published(place) else pattern

    def secrets_among(self, places: Sequence[str]) -> Iterator[str]:
        """Those of many files that are secrets; where too many are named so, all of them."""
        named = list(secrets_among(places))
        return (place for place in named if len(named) > MOST_COMPARED_WITH_GIT or not self.published(place))


def measured_files(files: KeptFiles, work: Work) -> KeptFiles:
    """The same files for one decision: whether one is ignored is looked up once, and counts."""

    @cache
    def is_ignored(place: str) -> bool:
        work.spend(1)
        return files.is_ignored(place)

    @cache
    def published(place: str) -> bool:
        work.spend(STEPS_OF_PUBLISHED)
        return files.published(place)

    return msgspec.structs.replace(files, is_ignored=is_ignored, published=published)


def secrets_among(places: Sequence[str]) -> Iterator[str]:
    """Those that `secret_pattern` knows, found quickly among many."""
    everything = "\n".join(places).casefold()
    hints = [hint for hint in HINTS if hint in everything]
    if not hints:
        return
    for place in places:
        folded = place.casefold()
        if any(hint in folded for hint in hints) and secret_pattern(place) is not None:
            yield place
