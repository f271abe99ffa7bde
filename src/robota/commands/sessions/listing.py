"""Lists stored sessions."""

import time
from collections.abc import Sequence
from typing import Any, Final

from robota.commands.families.sessions import ListSessions
from robota.commands.sessions.selection import project_of, session_places, stored_sessions
from robota.commands.verb import Answer, shown_parts
from robota.commands.verb_host import VerbHost
from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.catalogue.places import session_directories
from robota.log.chain.reader import LOG_NAME
from robota.protocol.views import SimpleView, TableView, TextView
from robota.text.visible import single_line
from robota.workspace.process.lock_holder import holder_of

MAX_TITLE: Final = 60
# Ids begin with the time in milliseconds, in this many characters.
SHORT_ID: Final = 13
WIDE_ENOUGH: Final = 140
NARROW: Final = 80
COLUMNS: Final = ("ID", "WRITTEN", "TURNS", "COST", "STATE", "MODEL", "NAME OR FIRST PROMPT")
DIRECTORY: Final = "DIRECTORY"
FOREIGN: Final = "(not from here) "
UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


def list_sessions(host: VerbHost, args: ListSessions) -> Answer:
    """The sessions, the one last written first."""
    sessions = stored_sessions(host, everywhere=args.all)
    own = [each for each in sessions if not each.is_agent]
    listed = own[: args.limit]
    parts: list[SimpleView] = []
    if listed:
        width = host.width if host.opened is None else NARROW
        parts.append(_table(listed, width, with_directory=args.all))
    else:
        parts.append(
            _text_view("There are no sessions." if args.all else f"There are no sessions in {project_of(host)}.")
        )
    if len(listed) < len(own):
        parts.append(_text_view(f"{len(own) - len(listed)} older sessions are not shown."))
    for directory in _without_log(host, sessions, everywhere=args.all):
        name = single_line(directory, 300)
        parts.append(_text_view(f"There is no log in {name}; `robota sessions delete` moves it to the trash."))
    return shown_parts(parts, [session_json(each) for each in listed])


def session_json(session: CataloguedSession) -> dict[str, Any]:
    """The JSON of a session for scripts."""
    summary, holder = session.summary, holder_of(session.directory / LOG_NAME) if session.is_live else None
    return {
        "id": session.id,
        "path": str(session.directory / LOG_NAME),
        "name": session.name or None,
        "title": summary.title,
        "state": session.state,
        "turns": summary.turns,
        "isPartial": session.is_partial,
        "costUsd": summary.cost if summary.is_cost_known else None,
        "tokens": summary.tokens,
        "model": session.model,
        "models": [model for model in summary.models if model],
        "tools": summary.tools,
        "cwd": session.cwd,
        "createdMs": summary.first_ts,
        "modifiedMs": session.modified_ms,
        "size": session.size,
        "isOwn": session.is_own,
        "isLive": session.is_live,
        "pid": None if holder is None else holder.pid,
        "sinceMs": None if holder is None else holder.since_ms,
        "origin": summary.origin,
        "header": summary.header,
    }


def age(then_ms: int, now_ms: int) -> str:
    """The time since then, in the largest unit."""
    seconds = max(0, now_ms - then_ms) // 1000
    return next((f"{seconds // size} {unit}" for size, unit in UNITS if seconds >= size), "now")


def cost(session: CataloguedSession) -> str:
    """The cost of a session as text."""
    summary = session.summary
    if not summary.is_cost_known or session.is_partial:
        return f"${summary.cost:.2f}+" if summary.cost else "?"
    return f"${summary.cost:.2f}" if summary.cost else "-"


def _table(sessions: Sequence[CataloguedSession], width: int | None, *, with_directory: bool) -> TableView:
    now_ms = time.time_ns() // 1_000_000
    ids = _short_ids([each.id for each in sessions], width)
    return TableView(
        columns=(*COLUMNS[:-1], DIRECTORY, COLUMNS[-1]) if with_directory else COLUMNS,
        rows=tuple(_row(each, ids[each.id], now_ms, with_directory=with_directory) for each in sessions),
    )


def _short_ids(ids: list[str], width: int | None) -> dict[str, str]:
    """The ids; on a narrow terminal shortened to prefixes, which also identify a session, if all of them differ."""
    short = {each: each[:SHORT_ID] for each in ids}
    is_narrow = width is not None and width < WIDE_ENOUGH
    return short if is_narrow and len(set(short.values())) == len(set(ids)) else {each: each for each in ids}


def _row(session: CataloguedSession, id: str, now_ms: int, *, with_directory: bool) -> tuple[str, ...]:
    title = single_line(session.name or session.summary.title, MAX_TITLE)
    cells = (
        id,
        age(session.modified_ms, now_ms),
        f"{session.summary.turns}{'+' if session.is_partial else ''}",
        cost(session),
        _state(session),
        single_line(session.model or "?", MAX_TITLE),
    )
    directory = (single_line(session.workspace, MAX_TITLE),) if with_directory else ()
    return (*cells, *directory, title if session.is_own else FOREIGN + title)


def _state(session: CataloguedSession) -> str:
    """What the session does, and which process runs it."""
    holder = holder_of(session.directory / LOG_NAME) if session.is_live else None
    return session.state if holder is None else f"{session.state} in {holder.pid}"


def _text_view(text: str) -> TextView:
    return TextView(text=text)


def _without_log(host: VerbHost, sessions: Sequence[CataloguedSession], *, everywhere: bool) -> list[str]:
    with_log = {each.directory for each in sessions}
    directories = (
        place.directory / name
        for place in session_places(host, everywhere=everywhere)
        for name in session_directories(place)
    )
    return [str(directory) for directory in sorted(directories) if directory not in with_log]
