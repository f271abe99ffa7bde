"""The session that the verbs of rewinding work on, open or stored."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import msgspec

from robota.commands.verb import SessionRefused
from robota.commands.verb_host import VerbHost
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


@contextmanager
def rewinding(host: VerbHost, session: str | None, *, is_written: bool) -> Iterator[RewindTarget]:
    """A session to look at or, with `is_written`, to rewind. In a conversation, it is always its own."""
    if host.opened is not None:
        service = OpenSessionRewind(host.opened.session.rewind)
        yield RewindTarget(session_id=host.opened.options.session_id, service=service)
        return
    from robota.app.rewinding.rewind import stored_rewinder
    from robota.commands.sessions.selection import session_with_checkpoints, session_workspace
    from robota.log.chain.reader import LOG_NAME

    stored = session_with_checkpoints(host, session)
    directory, workspace = stored.directory, session_workspace(stored, host.root)
    checkpoints = host.settings.values.checkpoints
    with (
        host.progress("reading the log", directory / LOG_NAME) as progress,
        stored_rewinder(
            checkpoints, workspace, host.env, directory, is_written=is_written, progress=progress
        ) as rewinder,
    ):
        yield RewindTarget(
            session_id=directory.name,
            service=rewinder,
            relative=lambda path: os.path.relpath(host.cwd.resolve() / path, workspace),
        )


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
