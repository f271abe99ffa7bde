"""The ports on which the commands of a session listen, where the person cannot reach them by themselves."""

from typing import Protocol


class SessionPorts(Protocol):
    """What the sandbox offers of its network."""

    async def listening_ports(self) -> tuple[int, ...]:
        """The ports inside on which somebody listens."""
        ...

    async def new_ports(self) -> tuple[int, ...]:
        """Those of them that no earlier call has named."""
        ...

    async def forward(self, port: int) -> int:
        """The port of the machine that leads to that one inside, from now on. Raises `OSError`."""
        ...
