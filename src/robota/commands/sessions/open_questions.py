"""The open questions of all sessions of this user: of those that run, and of those that were left with one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from robota.commands.families.state import question_text, ways_to_answer
from robota.commands.sessions.known_sessions import known_running, pending_asks, stored_sessions
from robota.commands.verb import Answer, shown_parts
from robota.config.paths import user_directory
from robota.log.chain.writer import wall_clock_ms
from robota.protocol.codec import encode
from robota.protocol.connection.known_session import SessionAsk
from robota.protocol.views import SimpleView, TextView
from robota.text.visible import single_line
from robota.transport.doors import DIRECTORY
from robota.transport.running_sessions import running_sessions

MAX_TITLE: Final = 80
NOTHING: Final = "No session asks anything."


async def open_questions(env: Mapping[str, str], tell: Callable[[str], None]) -> tuple[SessionAsk, ...]:
    """All of them, the longest waiting first. `tell` gets why a running session could not be asked."""
    now = await running_sessions(user_directory(env) / DIRECTORY)
    for problem in now.unreachable:
        tell(str(problem))
    return pending_asks(map(known_running, now.sessions), await stored_sessions(env, None), env, wall_clock_ms())


def listed_questions(asks: Sequence[SessionAsk]) -> Answer:
    """The questions, and the command for each answer."""
    parts: list[SimpleView] = [TextView(text=_as_text(each)) for each in asks]
    return shown_parts(parts or [TextView(text=NOTHING)], [_as_json(each) for each in asks])


def _as_text(each: SessionAsk) -> str:
    session = each.session
    where = "" if session.process is not None else "  (not running; an answer continues it)"
    title = f"{session.session_id}  {session.cwd}  {single_line(session.title, MAX_TITLE)}{where}"
    ways = (f"  {way.means}: {way.command}" for way in ways_to_answer(session.session_id, each.ask))
    return "\n".join((title, question_text(each.ask), *ways, ""))


def _as_json(each: SessionAsk) -> dict[str, Any]:
    session = each.session
    return {
        "sessionId": session.session_id,
        "cwd": session.cwd,
        "title": session.title,
        "pid": None if session.process is None else session.process.pid,
        "ask": msgspec.json.decode(encode(each.ask)),
        "answers": [
            {"means": way.means, "command": way.command, "json": msgspec.json.decode(encode(way.response))}
            for way in ways_to_answer(session.session_id, each.ask)
        ],
    }
