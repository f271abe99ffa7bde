"""What is kept from the model, and which files there are that a command would come across."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

import msgspec

from robota.policy.protected.path_resolver import Work, secret_pattern
from robota.workspace.files.secret_names import SECRETS

# What every name that a pattern fits has in it: the longest piece between its stars.
HINTS: Final = tuple(dict.fromkeys(max(pattern.split("*"), key=len).rstrip(".").casefold() for pattern in SECRETS))


class KeptFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Looks up what policy must know of the files in the workspace. Paths are those from its root on.

    `is_ignored` and `ignores_any` speak of `.robotaignore`. `below` names the files below a directory, `tracked` those
    that git has in its index; both say None where there are too many or nobody can tell. Where they are missing,
    nothing is known.
    """

    is_ignored: Callable[[str], bool] = lambda place: False
    ignores_any: Callable[[], bool] = lambda: False
    below: Callable[[str], tuple[str, ...] | None] | None = None
    tracked: Callable[[], tuple[str, ...] | None] | None = None


def measured_files(files: KeptFiles, work: Work) -> KeptFiles:
    """The same files for one decision: whether one is ignored is looked up once, and counts."""

    @cache
    def is_ignored(place: str) -> bool:
        work.spend(1)
        return files.is_ignored(place)

    return msgspec.structs.replace(files, is_ignored=is_ignored)


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
