"""The service that rewinds a session: its files, and its conversation in the log."""

from typing import Protocol

from robota.protocol.commands import RewindRequest
from robota.protocol.rewind import PromptPoint, RewindResult


class RewindError(Exception):
    """The rewind is not possible; the text says why, and what was left untouched, for the user."""


class RewindService(Protocol):
    """Rewinds an idle session. Every method may raise `RewindError`."""

    async def points(self, newest: int | None = None) -> tuple[PromptPoint, ...]:
        """Every prompt of the session, including those on abandoned branches, or only the `newest` ones."""
        ...

    async def diff(self, number: int | None) -> str:
        """What the calls of a prompt changed, or everything since the first change."""
        ...

    async def preview(self, order: RewindRequest) -> RewindResult:
        """What the rewind would change, with the exact diff."""
        ...

    async def carry_out(self, order: RewindRequest) -> RewindResult:
        """Rewind. Files change completely or not at all, and the conversation only after them."""
        ...
