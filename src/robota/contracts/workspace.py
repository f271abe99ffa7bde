"""The files and processes that tools work on. An editor or a worker on another machine may bring its own."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from robota.workspace.files.files import EditableFiles, FileData
from robota.workspace.process.wrapped_command import NO_MORE_ACCESS, SandboxAccess

if TYPE_CHECKING:
    from robota.workspace.files.listing import Listing

    # What runs commands is loaded with the first one.
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
    """What is known by `now` of what commands can reach: the sandbox is detected by the first command."""

    def __init__(self, reach: CommandReach) -> None:
        self.now = reach


class Files(EditableFiles, Protocol):
    """The files of one workspace. It remembers what the model has read, so that nothing is overwritten blindly."""

    def for_call(self) -> "Files":
        """The same files for one call: a path goes on meaning the place that it meant when it was first looked up."""
        ...

    def relative(self, path: str) -> str:
        """The real path as seen from the root, for showing to people."""
        ...

    def is_ignored(self, relative: str, *, is_directory: bool = False) -> bool:
        """Whether a path, given from the root on, is kept from the model."""
        ...

    def is_secret(self, relative: str) -> bool:
        """Whether the name of a file, given from the root on, says that it holds secrets."""
        ...

    def read_part(self, path: str, start: int, most: int) -> FileData:
        """At most so many bytes of a regular file, from `start` on; none after its end."""
        ...

    def note_read(self, file: FileData) -> None:
        """The model has now been shown this content."""
        ...

    def forget_reads(self) -> None:
        """The model does not know any more what it read and wrote."""
        ...

    def stamps(self) -> Mapping[str, tuple[int, ...]]:
        """How the files look, by their path below the root, that were shown to the model or written through this."""
        ...

    def changed_by_others(self) -> Mapping[str, tuple[int, ...]]:
        """Files that are not as the model last read or wrote them, and how they look now; without stamp: gone."""
        ...

    def recall(self, stamps: Mapping[str, tuple[int, ...]]) -> Sequence[str]:
        """Remember what the model knew of files in an earlier process; names those that look different now."""
        ...

    def list(self, path: str, recursive: bool, limit: int) -> "Listing":
        """What is in a directory, in tree order, at most `limit` entries."""
        ...

    def directory(self, path: str) -> Path:
        """The real path of a directory that exists."""
        ...


class Processes(Protocol):
    """Runs the commands of one session; `unsandboxed` and `access` only if the caller was allowed that.

    Of a chain of simple commands, `is_chain`, it is found out how many were started. `on_background` is called when
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
        """Run a shell command to its end or to the time limit."""
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
        """The same, but at the time limit the command goes on in the background."""
        ...

    def start_background(self, command: str, cwd: Path) -> "BackgroundProcess":
        """Start a command that can be written to and that nobody waits for."""
        ...

    @property
    def is_sandboxed(self) -> bool:
        """Whether commands run in a sandbox."""
        ...

    @property
    def ports(self) -> "SessionPorts | None":
        """The ports of background processes; None where the user reaches these anyway, or there are none."""
        ...

    @property
    def background(self) -> "tuple[BackgroundProcess, ...]":
        """All of this session, also those that have ended, in the order of their start."""
        ...

    def find_background(self, name: str) -> "BackgroundProcess | None":
        """One of them by its id."""
        ...

    async def end_background(self) -> None:
        """Stop all of them; TERM lets them clean up."""
        ...

    @property
    def is_running(self) -> bool:
        """Whether somebody waits for a command."""
        ...

    def abort_running(self) -> None:
        """End every command that somebody waits for."""
        ...
