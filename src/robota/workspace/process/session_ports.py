"""The ports that commands of a session listen on inside the sandbox, where the user cannot reach them directly."""

from typing import Protocol


class SessionPorts(Protocol):
    """Access to the network of the sandbox."""

    async def listening_ports(self) -> tuple[int, ...]:
        """The ports inside that a process listens on."""
        ...

    async def new_ports(self) -> tuple[int, ...]:
        """The listening ports that no earlier call returned."""
        ...

    async def forward(self, port: int) -> int:
        """Forward a local port of this machine to the port inside; returns the local port. `OSError` on failure."""
        ...
