"""Finds a session by what the user typed: an id, a prefix of one, a name, or words of its first prompt."""

from collections.abc import Callable, Sequence
from typing import Final

from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.errors import SessionAmbiguous, SessionNotFound
from robota.text.visible import single_line

SHOWN: Final = 5
TITLE_SHOWN: Final = 50

Match = Callable[[CataloguedSession], bool]


def find_catalogued(sessions: Sequence[CataloguedSession], typed: str) -> CataloguedSession:
    """Find one session. More specific matches take precedence: id, name, prefix of an id, words.

    Sessions that came with a repository are found by name or words only if no session of this machine matches.
    """
    words = typed.lower().split()
    ways: tuple[tuple[str, Match], ...] = (
        ("have the id", lambda each: each.id == typed),
        ("have the name", lambda each: each.name == typed),
        ("have the name", lambda each: each.name.lower() == typed.lower()),
        ("begin with", lambda each: each.id.startswith(typed) and not each.is_agent),
        ("are about", lambda each: all(word in _words_of(each) for word in words) and not each.is_agent),
    )
    for how, matches in ways if words else ():
        matching = [each for each in sessions if matches(each)]
        own = [each for each in matching if each.is_own]
        matching = matching if how in ("have the id", "begin with") else own or matching
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise SessionAmbiguous(
                f"{len(matching)} sessions {how} {typed!r}: {_listed(matching)}. Nothing was changed. Give more of the "
                "id."
            )
    raise SessionNotFound(f"There is no session {typed!r} here. `robota sessions list` lists the sessions.")


def _words_of(session: CataloguedSession) -> str:
    return f"{session.name} {session.summary.title}".lower()


def _listed(sessions: Sequence[CataloguedSession]) -> str:
    names = [f"{each.id} ({single_line(each.name or each.summary.title, TITLE_SHOWN)})" for each in sessions[:SHOWN]]
    return ", ".join(names) + (f" and {len(sessions) - SHOWN} more" if len(sessions) > SHOWN else "")
