"""What the engine uses to go back in a session: files, and where the conversation stands in the log."""

from typing import Protocol

from robota.protocol.commands import RewindRequest
from robota.protocol.rewind import PromptPoint, RewindResult


class RewindError(Exception):
    """It cannot be gone back that way; the text says why, for a person, and what was left untouched."""


class RewindService(Protocol):
    """Goes back in a session while nothing runs in it. All of it raises `RewindError`."""

    async def points(self, newest: int | None = None) -> tuple[PromptPoint, ...]:
        """Every prompt of the session, also those on branches that were left, or only the `newest` ones."""
        ...

    async def diff(self, number: int | None) -> str:
        """What the calls of a prompt changed, or everything since the first change."""
        ...

    async def preview(self, order: RewindRequest) -> RewindResult:
        """What the order would change, with the exact diff."""
        ...

    async def carry_out(self, order: RewindRequest) -> RewindResult:
        """Go back. Files change as a whole or not at all, and the conversation only after them."""
        ...
