"""`robota sessions list`."""

import argparse
import time
from typing import Any, Final

from robota.cli.commands.sessions.selection import chosen_places, chosen_sessions
from robota.cli.output import print_columns, print_json, terminal_width
from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.catalogue.places import SessionsPlace, session_directories
from robota.log.chain.reader import LOG_NAME
from robota.text.visible import single_line

TITLE_SHOWN: Final = 60
# Ids begin with the time in milliseconds, in this many characters.
SHORT_ID: Final = 13
WIDE_ENOUGH: Final = 140
HEADINGS: Final = ("ID", "WRITTEN", "TURNS", "COST", "STATE", "MODEL", "NAME OR FIRST PROMPT")
DIRECTORY: Final = "DIRECTORY"
FOREIGN: Final = "(not from here) "
UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


def run(options: argparse.Namespace) -> int:
    """List the sessions, the one last written first."""
    sessions = chosen_sessions(options)
    shown = sessions[: options.limit]
    if options.json:
        print_json([session_json(each) for each in shown])
        return 0
    if not shown:
        print("There are no sessions." if options.all else f"There are no sessions in {options.cwd.resolve()}.")
    else:
        now_ms = time.time_ns() // 1_000_000
        ids = _shown_ids([each.id for each in shown], terminal_width())
        rows = [_row(each, ids[each.id], now_ms, with_directory=options.all) for each in shown]
        headings = (*HEADINGS[:-1], DIRECTORY, HEADINGS[-1]) if options.all else HEADINGS
        print_columns([headings, *rows])
    if len(shown) < len(sessions):
        print(f"{len(sessions) - len(shown)} older sessions are not shown.")
    for directory in _without_log(chosen_places(options), {each.directory for each in sessions}):
        print(f"There is no log in {single_line(directory, 300)}; `robota sessions delete` moves it to the trash.")
    return 0


def session_json(session: CataloguedSession) -> dict[str, Any]:
    """The JSON of a session for scripts."""
    summary = session.summary
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
        "origin": summary.origin,
        "header": summary.header,
    }


def age(then_ms: int, now_ms: int) -> str:
    """The time since then, in the largest unit."""
    seconds = max(0, now_ms - then_ms) // 1000
    return next((f"{seconds // size} {unit}" for size, unit in UNITS if seconds >= size), "now")


def told_cost(session: CataloguedSession) -> str:
    """The cost of a session as text."""
    summary = session.summary
    if not summary.is_cost_known or session.is_partial:
        return f"${summary.cost:.2f}+" if summary.cost else "?"
    return f"${summary.cost:.2f}" if summary.cost else "-"


def _shown_ids(ids: list[str], width: int | None) -> dict[str, str]:
    """The ids; on a narrow terminal shortened to prefixes, which also identify a session, if all of them differ."""
    short = {each: each[:SHORT_ID] for each in ids}
    is_narrow = width is not None and width < WIDE_ENOUGH
    return short if is_narrow and len(set(short.values())) == len(set(ids)) else {each: each for each in ids}


def _row(session: CataloguedSession, shown_id: str, now_ms: int, *, with_directory: bool) -> tuple[str, ...]:
    title = single_line(session.name or session.summary.title, TITLE_SHOWN)
    cells = (
        shown_id,
        age(session.modified_ms, now_ms),
        f"{session.summary.turns}{'+' if session.is_partial else ''}",
        told_cost(session),
        session.state,
        single_line(session.model or "?", TITLE_SHOWN),
    )
    directory = (single_line(session.workspace, TITLE_SHOWN),) if with_directory else ()
    return (*cells, *directory, title if session.is_own else FOREIGN + title)


def _without_log(places: tuple[SessionsPlace, ...], known: set[Any]) -> list[str]:
    found = [place.directory / name for place in places for name in session_directories(place)]
    return [str(directory) for directory in sorted(found) if directory not in known]
