"""All sessions of this user, as one list: those that run now, as they themselves say, and stored ones."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from robota.commands.sessions.left_ask import left_open, session_as_left
from robota.commands.sessions.selection import own_directory
from robota.log.catalogue.catalogue import CataloguedSession, catalogue
from robota.log.catalogue.places import all_places, project_places
from robota.log.catalogue.summary import SessionStatus
from robota.log.errors import LogError
from robota.protocol.asks.kinds import AT_REST_ASKS
from robota.protocol.connection.known_session import KnownSession, SessionAsk, SessionProcess
from robota.protocol.message import Message
from robota.transport.running_sessions import RunningSession

# Questions in logs that nobody has answered for longer are not shown any more: they are about another time.
LEFT_WITHIN_MS: Final = 14 * 24 * 60 * 60 * 1000
MAX_LEFT: Final = 100


def known_running(running: RunningSession) -> KnownSession:
    """A session that runs now."""
    hello, state = running.hello, running.state
    process = SessionProcess(
        pid=hello.pid, since_ms=hello.since_ms, version=hello.version, is_here=hello.pid == os.getpid()
    )
    return KnownSession(
        session_id=hello.session_id,
        cwd=hello.cwd,
        title=running.title,
        name=state.name,
        model=state.model,
        modified_ms=running.info.last_message_ts or hello.since_ms,
        cost=running.cost,
        process=process,
        state=running.info,
        ask=running.waiting,
    )


async def stored_sessions(env: Mapping[str, str], cwd: str | None) -> tuple[CataloguedSession, ...]:
    """The stored sessions with at least one turn, of one directory or all, the newest first."""
    return await asyncio.to_thread(lambda: tuple(each for each in _stored(env, cwd) if each.summary.turns))


async def stored_session(env: Mapping[str, str], session_id: str) -> CataloguedSession | None:
    """The stored session with this id, also one without a turn."""
    return await asyncio.to_thread(lambda: next((each for each in _stored(env, None) if each.id == session_id), None))


def _stored(env: Mapping[str, str], cwd: str | None) -> Iterator[CataloguedSession]:
    user = own_directory(env)
    here = Path(os.path.realpath(cwd or os.sep))
    places = all_places(here, user) if cwd is None else project_places(here, user)
    return (each for each in catalogue(places, user, _ignore) if not each.is_agent)


def known_stored(session: CataloguedSession) -> KnownSession:
    """A session that is not running, or that cannot be reached."""
    summary = session.summary
    return KnownSession(
        session_id=session.id,
        cwd=session.workspace,
        title=session.name or summary.title,
        name=session.name or None,
        model=session.model,
        modified_ms=session.modified_ms,
        cost=summary.cost if summary.is_cost_known else None,
        is_own=session.is_own,
    )


def pending_asks(
    running: Iterable[KnownSession], stored: Sequence[CataloguedSession], env: Mapping[str, str], now_ms: int
) -> tuple[SessionAsk, ...]:
    """What running sessions and those that were left with a question ask, the longest waiting first."""
    listed = list(running)
    asks = [
        SessionAsk(session=each, ask=each.ask)
        for each in listed
        if each.ask is not None and each.ask.ask not in AT_REST_ASKS
    ]
    ids = {each.session_id for each in listed}
    left = [
        each
        for each in stored
        if each.id not in ids
        and each.is_own
        and not each.is_live
        and each.summary.status is SessionStatus.WAITING
        and each.modified_ms > now_ms - LEFT_WITHIN_MS
    ]
    for each in left[:MAX_LEFT]:
        ask = _left_ask(each, env)
        if ask is not None and ask.ask not in AT_REST_ASKS:
            asks.append(SessionAsk(session=known_stored(each), ask=ask))
    return tuple(sorted(asks, key=lambda each: each.ask.ts))


def _left_ask(session: CataloguedSession, env: Mapping[str, str]) -> Message | None:
    try:
        replayed, _ = session_as_left(session.directory, env)
    except (LogError, OSError):
        return None  # `robota state` says what is wrong with it
    return None if replayed.root is None else left_open(replayed.root)


def _ignore(text: str) -> None:
    """Ignore problems with the index: they make a list slower, not wrong."""
