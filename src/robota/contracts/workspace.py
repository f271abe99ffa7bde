"""The files and processes that tools work on. An editor or a remote worker may implement them differently."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from robota.workspace.files.files import EditableFiles, FileData
from robota.workspace.process.wrapped_command import NO_MORE_ACCESS, SandboxAccess

if TYPE_CHECKING:
    from robota.workspace.files.listing import Listing

    # Imported with the first command.
    from robota.workspace.process.background import BackgroundProcess
    from robota.workspace.process.foreground import CommandOutcome
    from robota.workspace.process.session_ports import SessionPorts


class CommandReach(msgspec.Struct, frozen=True, kw_only=True):
    """What commands can reach.

    `hosts` are those that sandboxed commands may connect to, None if the whole network is open to them.
    """

    is_sandboxed: bool = False
    lacks_sandbox: bool = False  # one is wanted, but none works on this machine
    hosts: tuple[str, ...] | None = None


class KnownReach:
    """What commands can reach, as far as `now` is known: the sandbox is detected with the first command."""

    def __init__(self, reach: CommandReach) -> None:
        self.now = reach


class Files(EditableFiles, Protocol):
    """The files of one workspace. It remembers what the model has read, so that nothing is overwritten blindly."""

    def added(self) -> Collection[Path]:
        """The directories outside the root that the user lets the session read."""
        ...

    def for_call(self) -> "Files":
        """The same files for one call, in which a path always refers to the file it was first resolved to."""
        ...

    def holding(self, path: str) -> "Files":
        """The files of the directory that a path is in: one outside the workspace that may be read, or these."""
        ...

    def relative(self, path: str) -> str:
        """The real path relative to the root, for display."""
        ...

    def is_ignored(self, relative: str, *, is_directory: bool = False) -> bool:
        """Whether a path relative to the root is hidden from the model."""
        ...

    def is_secret(self, relative: str) -> bool:
        """Whether a path relative to the root has the name of a file that contains secrets."""
        ...

    def read_part(self, path: str, start: int, most: int) -> FileData:
        """Up to this many bytes of a regular file from `start`; empty after its end."""
        ...

    def note_read(self, file: FileData) -> None:
        """Record that the model has been shown this content."""
        ...

    def forget_reads(self) -> None:
        """Forget what the model read and wrote, because it is no longer in its context."""
        ...

    def stamps(self) -> Mapping[str, tuple[int, ...]]:
        """The stamps, by path relative to the root, of the files that the model has read or written."""
        ...

    def changed_by_others(self) -> Mapping[str, tuple[int, ...]]:
        """The files changed since the model read or wrote them, with their current stamp; without one they are gone."""
        ...

    def recall(self, stamps: Mapping[str, tuple[int, ...]]) -> Sequence[str]:
        """Restore the stamps of an earlier process; returns the files that have changed since."""
        ...

    def list(self, path: str, recursive: bool, limit: int) -> "Listing":
        """The entries of a directory in tree order, at most `limit`."""
        ...

    def directory(self, path: str) -> Path:
        """The real path of an existing directory."""
        ...


class Processes(Protocol):
    """Runs the commands of one session; `unsandboxed` and `access` only if the caller was allowed that.

    With `is_chain`, for a chain of simple commands, the result says how many started. `on_background` is called when
    one in the background begins or ends.
    """

    on_background: Callable[[], None]

    async def run(
        self,
        command: str,
        cwd: Path,
        timeout_s: float | None,
        on_output: Callable[[str], None],
        *,
        unsandboxed: bool = False,
        access: SandboxAccess = NO_MORE_ACCESS,
        is_chain: bool = False,
    ) -> "CommandOutcome":
        """Run a shell command until it ends or the time limit is reached."""
        ...

    async def run_or_hand_over(
        self,
        command: str,
        cwd: Path,
        timeout_s: float,
        on_output: Callable[[str], None],
        *,
        unsandboxed: bool = False,
        access: SandboxAccess = NO_MORE_ACCESS,
        is_chain: bool = False,
    ) -> "CommandOutcome | BackgroundProcess":
        """Like `run_or_move`, but at the time limit the command continues in the background, too."""
        ...

    async def run_or_move(
        self,
        command: str,
        cwd: Path,
        timeout_s: float,
        on_output: Callable[[str], None],
        *,
        unsandboxed: bool = False,
        access: SandboxAccess = NO_MORE_ACCESS,
        is_chain: bool = False,
    ) -> "CommandOutcome | BackgroundProcess":
        """Like `run`, but the user may move the command to the background."""
        ...

    def start_background(self, command: str, cwd: Path, access: SandboxAccess = NO_MORE_ACCESS) -> "BackgroundProcess":
        """Start a command in the background; its standard input stays open."""
        ...

    @property
    def is_sandboxed(self) -> bool:
        """Whether commands run in a sandbox."""
        ...

    @property
    def ports(self) -> "SessionPorts | None":
        """The ports of background processes; None if the user can reach them anyway, or there are none."""
        ...

    @property
    def background(self) -> "tuple[BackgroundProcess, ...]":
        """All background commands of the session, including ended ones, in the order of their start."""
        ...

    def find_background(self, name: str) -> "BackgroundProcess | None":
        """A background command by its id."""
        ...

    async def end_background(self) -> None:
        """Stop all background commands with TERM, which lets them clean up."""
        ...

    @property
    def is_running(self) -> bool:
        """Whether a command is running in the foreground."""
        ...

    def abort_running(self) -> None:
        """Stop every command that runs in the foreground."""
        ...

    def move_running(self) -> bool:
        """Move the foreground commands to the background; False if none of them can be moved."""
        ...
