"""A command as it is really started: as it is, or inside a sandbox."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec


class SandboxAccess(msgspec.Struct, frozen=True, kw_only=True):
    """What one command may do in the sandbox beyond the others.

    `git_data`: change the data of the workspace's repository (objects, refs, index), but nothing that git executes.
    `session_network`: reach the programs that the session runs in the background, and be reached by later commands.
    `hosts`: reach these as well. `writable`: change what is in these directories.
    """

    git_data: bool = False
    session_network: bool = False
    hosts: tuple[str, ...] = ()
    writable: tuple[Path, ...] = ()


NO_MORE_ACCESS: Final = SandboxAccess()


class WrappedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The command line to start, the descriptors it needs, and `clean_up` to call when the command has ended.

    `refused_hosts` gives a sentence for each host that the sandbox kept it from. With `has_supervisor` the process that
    is started only holds the sandbox: if that is asked to end, the command is killed without having been asked.
    `take_over` is called after the end and before `clean_up`, not on the event loop: it takes over what the command did
    to a copy, and gives a sentence for each thing that it does not. `git_settings` hold for every git that it runs.
    """

    argv: tuple[str, ...]
    descriptors: tuple[int, ...] = ()
    clean_up: Callable[[], None] = lambda: None
    is_sandboxed: bool = False
    has_supervisor: bool = False
    refused_hosts: Callable[[], tuple[str, ...]] = tuple
    take_over: Callable[[], tuple[str, ...]] | None = None
    git_settings: Mapping[str, str] = {}


CommandWrapper = Callable[[Sequence[str], Path, SandboxAccess], WrappedCommand]


def unwrapped(command: Sequence[str], cwd: Path, access: SandboxAccess = NO_MORE_ACCESS) -> WrappedCommand:
    """The command without a sandbox."""
    return WrappedCommand(argv=tuple(command))
