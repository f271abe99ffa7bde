"""The session that the verbs of rewinding work on, open or stored."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from robota.commands.verb import SessionRefused
from robota.contracts.rewind import RewindService
from robota.protocol.commands import Refused, RewindRequest
from robota.protocol.rewind import PromptPoint, RewindResult

if TYPE_CHECKING:
    from robota.engine.session.rewinding import SessionRewind

T = TypeVar("T")


class RewindTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A session. `relative` turns a path that the user typed into one of its workspace."""

    session_id: str
    service: RewindService
    relative: Callable[[str], str] = str


class OpenSessionRewind:
    """Rewinds the session of a conversation. Raises `SessionRefused`."""

    def __init__(self, rewind: "SessionRewind") -> None:
        self._rewind = rewind

    async def points(self, newest: int | None = None) -> tuple[PromptPoint, ...]:
        return _accepted(await self._rewind.points())[-(newest or 0) :]

    async def diff(self, number: int | None) -> str:
        return _accepted(await self._rewind.diff(number))

    async def preview(self, order: RewindRequest) -> RewindResult:
        return _accepted(await self._rewind.preview(order))

    async def carry_out(self, order: RewindRequest) -> RewindResult:
        return _accepted(await self._rewind.go(order))


def _accepted(answer: T | Refused) -> T:
    if isinstance(answer, Refused):
        raise SessionRefused(answer)
    return answer
