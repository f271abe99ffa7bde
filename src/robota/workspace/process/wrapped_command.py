"""A command as it is really started: as it is, or inside a sandbox."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec


class WrappedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The command line to start, the descriptors it needs, and `clean_up` to call when the command has ended.

    `refused_hosts` gives a sentence for each host that the sandbox kept it from. With `has_supervisor` the process that
    is started only holds the sandbox: if that is asked to end, the command is killed without having been asked.
    """

    argv: tuple[str, ...]
    descriptors: tuple[int, ...] = ()
    clean_up: Callable[[], None] = lambda: None
    is_sandboxed: bool = False
    has_supervisor: bool = False
    refused_hosts: Callable[[], tuple[str, ...]] = tuple


CommandWrapper = Callable[[Sequence[str], Path], WrappedCommand]


def unwrapped(command: Sequence[str], cwd: Path) -> WrappedCommand:
    """The command without a sandbox."""
    return WrappedCommand(argv=tuple(command))
