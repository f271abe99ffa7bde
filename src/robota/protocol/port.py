"""The interfaces of a client: `SessionPort`, a running session, and `HostPort`, all sessions that it can reach."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

from robota.protocol.commands import Command, Receipt, Refused
from robota.protocol.events import Event

if TYPE_CHECKING:
    from robota.protocol.connection.known_session import KnownSession, SessionAsk, SessionStart
    from robota.protocol.connection.lines import ServerHello
    from robota.protocol.slash_commands import SessionWanted


class SessionPort(Protocol):
    """A running session, in this process or elsewhere."""

    async def submit(self, command: Command) -> Receipt:
        """Hand over a command. A refusal changes nothing."""
        ...

    def events(self) -> AsyncIterator[Event]:
        """All events from now on, starting with a full `state`. Ends when the session closes."""
        ...


class SessionWindow(Protocol):
    """A window on a running session. Leaving it leaves the session running."""

    @property
    def hello(self) -> "ServerHello":
        """Which session it is, and which process runs it."""
        ...

    @property
    def session(self) -> SessionPort: ...

    async def leave(self) -> None: ...


class EditorFiles(Protocol):
    """The files as the editor of the user has them, with changes that are not saved."""

    async def read(self, path: str) -> str | None:
        """The text of a file in the editor; None if it does not say."""
        ...

    async def write(self, path: str, text: str) -> str | None:
        """Replace the text of a file in the editor; returns the problem if it does not take it."""
        ...


class HostPort(Protocol):
    """All sessions of this user: those that this host runs, those of other processes, and stored ones.

    A refusal says why, and has changed nothing.
    """

    async def sessions(self, cwd: str | None = None) -> "tuple[KnownSession, ...]":
        """The running sessions, the oldest first, then the stored ones, the newest first; of one directory, or all."""
        ...

    async def inbox(self) -> "tuple[SessionAsk, ...]":
        """What running sessions, and those that were left with a question, ask; the longest waiting first."""
        ...

    async def open(self, start: "SessionStart", editor: EditorFiles | None = None) -> SessionWindow | Refused:
        """Start a new session in this host, which reads and writes unsaved changes in the editor."""
        ...

    async def resume(
        self, session_id: str, start: "SessionStart | None" = None, editor: EditorFiles | None = None
    ) -> SessionWindow | Refused:
        """Continue a stored session in this host. One that runs is attached to instead.

        Of `start`, the MCP servers and the further directories count.
        """
        ...

    async def fork(
        self, session_id: str, start: "SessionStart", editor: EditorFiles | None = None
    ) -> SessionWindow | Refused:
        """Continue in a copy of a stored session, which stays as it is.

        Of `start`, the MCP servers and the further directories count.
        """
        ...

    async def delete(self, session_id: str) -> Receipt:
        """Move a session to the trash, after closing it if this host runs it. One that runs elsewhere is refused."""
        ...

    async def reopen(self, session_id: str, wanted: "SessionWanted") -> SessionWindow | Refused:
        """Close a session of this host and continue it with other settings, or with the same if that fails."""
        ...

    async def attach(self, session_id: str) -> SessionWindow | Refused:
        """Open a window on a running session, of this host or another process."""
        ...

    async def close(self, session_id: str) -> Receipt:
        """Close a session that this host runs. It can be resumed."""
        ...
