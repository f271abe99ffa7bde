"""Lists of sessions and of what they ask, as data for the page."""

from collections.abc import Iterable
from typing import Any

from robota.clients.web.page_rows import page_row
from robota.clients.web.page_views import seen
from robota.protocol.connection.known_session import KnownSession, SessionAsk
from robota.text.visible import single_line

MAX_TITLE = 200


def sessions_data(sessions: Iterable[KnownSession]) -> list[Any]:
    """The sessions, running ones first. What they ask is in the inbox."""
    return [_session(each) for each in sessions]


def asks_data(asks: Iterable[SessionAsk]) -> list[Any]:
    """What sessions ask, with everything that is needed to answer."""
    return [{"session": _session(each.session), "row": page_row(each.ask)} for each in asks]


def _session(session: KnownSession) -> dict[str, Any]:
    return {
        "id": session.session_id,
        "cwd": seen(session.cwd),
        "title": single_line(session.title, MAX_TITLE),
        "name": None if session.name is None else single_line(session.name, MAX_TITLE),
        "model": seen(session.model),
        "modifiedMs": session.modified_ms,
        "cost": session.cost,
        "isOwn": session.is_own,
        "isRunning": session.process is not None,
        "isHere": session.process is not None and session.process.is_here,
        "state": None if session.state is None else session.state.state,
        "ask": None if session.ask is None else session.ask.ask,
        "askTs": None if session.ask is None else session.ask.ts,
    }
