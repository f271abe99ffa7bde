"""The command line that is really started for a command, with or without a sandbox."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    # Imported with the first command.
    from robota.workspace.confinement import Confined
    from robota.workspace.entry_files.entry import PinnedFile
    from robota.workspace.process.watchdog import GrowthLimit

# The shell that runs every command, whatever the login shell of the user is.
COMMAND_SHELL: Final = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"


class SandboxAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Additional access of one command in the sandbox.

    `git_data`: write the data of the workspace's repository (objects, refs, index), but nothing that git executes.
    `session_network`: share the network of the session's background processes and later commands.
    `hosts`: connect to these as well. `writable`: write in these directories. `confined`: nobody approved it, so it
    gets less: what cannot be restored is read-only, and disk space and time are limited. `pinned`: it finds these files
    as they were when it was allowed, and cannot change them. `is_read_only`: it can change nothing in the workspace.
    """

    git_data: bool = False
    session_network: bool = False
    hosts: tuple[str, ...] = ()
    writable: tuple[Path, ...] = ()
    confined: "Confined | None" = None
    pinned: "tuple[PinnedFile, ...]" = ()
    is_read_only: bool = False


NO_MORE_ACCESS: Final = SandboxAccess()
# What a sandbox prints, and its exit code, if what it mounted is not what was planned.
CHANGED_MEANWHILE: Final = (
    "the workspace changed while the sandbox was being built, so the command was not run. Try again."
)
NOT_RUN: Final = 125


class WrappedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The command line to start, the descriptors it needs, and `clean_up` to call when the command has ended.

    `on_start` is called when the process has been started and has inherited the descriptors.
    `refused_hosts` returns a sentence for each host that the sandbox blocked, `missed_places` one for each hidden place
    that the output of a failed command names. With `has_supervisor`, the process that
    is started only supervises the sandbox: TERM to it kills the command, which itself gets no TERM. `write_back` is
    called after the end and before `clean_up`, in a thread: it applies what the command changed in a copy to the
    original, and returns a sentence for each change that it left out. `git_settings` apply to every git that it runs.
    `start_script` is a file that the shell of the command reads first, to which can be added. `was_not_run` says,
    before `clean_up`, that the sandbox did not start the command (it could not be built, or was not as planned).
    `growth` limits how much it may write.
    """

    argv: tuple[str, ...]
    descriptors: tuple[int, ...] = ()
    on_start: Callable[[], None] = lambda: None
    clean_up: Callable[[], None] = lambda: None
    is_sandboxed: bool = False
    has_supervisor: bool = False
    refused_hosts: Callable[[], tuple[str, ...]] = tuple
    missed_places: Callable[[str], tuple[str, ...]] = lambda output: ()
    write_back: Callable[[], tuple[str, ...]] | None = None
    git_settings: Mapping[str, str] = {}
    start_script: int | None = None
    was_not_run: Callable[[], bool] = lambda: False
    growth: "GrowthLimit | None" = None


CommandWrapper = Callable[[Sequence[str], Path, SandboxAccess], WrappedCommand]


def unwrapped(command: Sequence[str], cwd: Path, access: SandboxAccess = NO_MORE_ACCESS) -> WrappedCommand:
    """Start the command without a sandbox."""
    return WrappedCommand(argv=tuple(command))
