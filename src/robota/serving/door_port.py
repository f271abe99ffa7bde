"""`DoorPort`: a session for clients elsewhere. Opening it again, as with another model, is left to its own process."""

from collections.abc import AsyncIterator, Callable
from typing import Final

from robota.protocol.commands import Accepted, Command, Receipt, Refused, RunSlashCommand
from robota.protocol.events import Event
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import SessionWanted

ASKS_THERE: Final = Refused(
    code="asks_at_terminal",
    message="This asks questions in the terminal of the process that runs the session. Nothing was changed. In a "
    "shell, the same is done by: robota --configure, or robota trust.",
)


class DoorPort:
    """Passes commands on. One after which this session is to be opened again is carried out by its own process.

    That does not apply to a command that came as a prompt.
    """

    def __init__(self, port: SessionPort, session_id: str, open_again: Callable[[SessionWanted], None]) -> None:
        self._port = port
        self._session_id = session_id
        self._open_again = open_again

    async def submit(self, command: Command) -> Receipt:
        receipt = await self._port.submit(command)
        wanted = receipt.outcome if isinstance(receipt, Accepted) else None
        if not isinstance(wanted, SessionWanted) or wanted.session_id != self._session_id:
            return receipt
        if isinstance(command, RunSlashCommand) and command.as_prompt:
            return receipt  # a text of somebody else does not choose the model; the client shows how the user can
        if wanted.sets_up is not None or wanted.decides_trust:
            return ASKS_THERE
        self._open_again(wanted)
        return receipt

    def events(self) -> AsyncIterator[Event]:
        return self._port.events()
