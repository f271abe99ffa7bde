"""Who gives an answer: a client, the program that it is, and its terminal. The log keeps that with the answer."""

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from robota.commands.command_session import CommandSession
from robota.log.kinds.calls import AnsweredBy
from robota.protocol.commands import Command, Receipt
from robota.protocol.events import Event

TERMINALS: Final = ("/dev/pts/", "/dev/tty")


def speaker_of(pid: int, client: str) -> AnsweredBy:
    """The process as the kernel knows it; `client` is what it calls itself."""
    process = Path("/proc") / str(pid)
    program = terminal = ""
    with suppress(OSError):
        program = (process / "comm").read_text(errors="replace").strip()
        terminal = str((process / "fd/0").readlink())
    if not terminal.startswith(TERMINALS):
        terminal = ""
    return AnsweredBy(client=client, pid=pid, program=program, terminal=terminal)


class SpokenFor:
    """A session as one client of another process has it: what it answers is recorded as its own."""

    def __init__(self, session: CommandSession, speaker: Callable[[], AnsweredBy]) -> None:
        """A client says its name in its first line, so the `speaker` is asked for with each command."""
        self._session = session
        self._speaker = speaker

    async def submit(self, command: Command) -> Receipt:
        return await self._session.submit(command, self._speaker())

    def events(self) -> AsyncIterator[Event]:
        return self._session.events()
