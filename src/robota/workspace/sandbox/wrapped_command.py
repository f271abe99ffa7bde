"""A command as it is really started."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec


class Wrapped(msgspec.Struct, frozen=True, kw_only=True):
    """A command with its walls, if it has any. `clean_up` must be called when it has ended.

    `refused` gives a sentence for each host that the walls kept it from. With `has_keeper` the process that is started
    only holds up the walls: if it is asked to end, the command dies without having been asked.
    """

    argv: tuple[str, ...]
    descriptors: tuple[int, ...] = ()
    clean_up: Callable[[], None] = lambda: None
    is_sandboxed: bool = False
    has_keeper: bool = False
    refused: Callable[[], tuple[str, ...]] = tuple


Wrap = Callable[[Sequence[str], Path], Wrapped]


def unwrapped(command: Sequence[str], cwd: Path) -> Wrapped:
    """The command as it is."""
    return Wrapped(argv=tuple(command))
