"""What a user types finds the session they mean, and never one that a repository has slipped in."""

from pathlib import Path

import pytest

from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.catalogue.find import find_catalogued
from robota.log.catalogue.summary import SummaryFold
from robota.log.errors import SessionAmbiguous, SessionNotFound


def session(session_id: str, name: str = "", title: str = "", *, is_own: bool = True) -> CataloguedSession:
    return CataloguedSession(
        id=session_id,
        directory=Path(session_id),
        modified_ms=1,
        size=1,
        is_own=is_own,
        is_live=False,
        summary=SummaryFold(name=name, title=title),
    )


SESSIONS = (
    session("abc", title="Fix the parser"),
    session("abcd", name="parser"),
    session("xyz", name="abc", title="Write docs"),
    session("planted", name="parser", title="write docs and tests", is_own=False),
)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("abc", "abc"),  # an id before a name
        ("parser", "abcd"),  # a name before words; one of this machine before one from elsewhere
        ("PARSER", "abcd"),
        ("abcd", "abcd"),
        ("xy", "xyz"),
        ("the fix", "abc"),
        ("docs", "xyz"),
        ("docs tests", "planted"),  # only if nothing of this machine fits
        ("plant", "planted"),
    ],
)
def test_the_most_exact_way_wins(wanted: str, found: str) -> None:
    assert find_catalogued(SESSIONS, wanted).id == found


def test_several_are_named_and_none_is_said_so() -> None:
    with pytest.raises(SessionAmbiguous, match=r"abc .*abcd"):
        find_catalogued(SESSIONS, "ab")
    for nothing in ("", "   ", "zebra", "*"):
        with pytest.raises(SessionNotFound):
            find_catalogued(SESSIONS, nothing)
