"""`SessionPort`: the one thing a client holds."""

from collections.abc import AsyncIterator
from typing import Protocol

from robota.protocol.commands import Command, Receipt
from robota.protocol.events import Event


class SessionPort(Protocol):
    """A running session, near or far."""

    async def submit(self, command: Command) -> Receipt:
        """Hand over a command. A refusal changes nothing."""
        ...

    def events(self) -> AsyncIterator[Event]:
        """Everything from now on, starting with a full `state`. Ends when the session closes."""
        ...
