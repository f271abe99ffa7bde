"""`SessionPort`: the interface between a client and a session."""

from collections.abc import AsyncIterator
from typing import Protocol

from robota.protocol.commands import Command, Receipt
from robota.protocol.events import Event


class SessionPort(Protocol):
    """A running session, in this process or elsewhere."""

    async def submit(self, command: Command) -> Receipt:
        """Hand over a command. A refusal changes nothing."""
        ...

    def events(self) -> AsyncIterator[Event]:
        """All events from now on, starting with a full `state`. Ends when the session closes."""
        ...
