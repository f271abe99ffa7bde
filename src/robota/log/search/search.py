"""Finds sessions by their text and by what they did."""

import os
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.derived_file import Notify
from robota.log.search.index import (
    INDEX,
    TIME_BITS,
    TIME_MASK,
    TellProgress,
    brought_up_to_date,
    without_removed,
)
from robota.log.search.scripts_without_spaces import with_separators, without_separators
from robota.text.visible import without_surrogates

# Markers around a match in a snippet. Neither can be typed, and both are escaped in text.
FOUND: Final = "\x02"
FOUND_END: Final = "\x03"
WORDS_IN_SNIPPET: Final = 24
SNIPPETS: Final = 3
PHRASE: Final = re.compile(r'"(?P<phrase>[^"]*)"|(?P<word>\S+)')
MAX_TERMS: Final = 50


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The search criteria, which a session must all match; `words` may be empty."""

    words: str = ""
    since_ms: int = 0
    file: Path | None = None
    tool: str | None = None
    model: str | None = None
    limit: int = 20


class FoundPassage(msgspec.Struct, frozen=True, kw_only=True):
    """A match; `snippet` has `FOUND` and `FOUND_END` around the words."""

    ts: int
    kind: str
    tool: str
    snippet: str


class FoundSession(msgspec.Struct, frozen=True, kw_only=True):
    """A matching session with its best matches."""

    session: CataloguedSession
    texts: tuple[FoundPassage, ...] = ()


def search(
    sessions: Sequence[CataloguedSession],
    query: SearchQuery,
    user_directory: Path | None,
    notify: Notify,
    progress: TellProgress = lambda done, size: None,
) -> tuple[FoundSession, ...]:
    """The matching sessions, best first; without words, newest first.

    `progress` is called with the bytes read and the total of new bytes in the logs.
    """
    fitting = [each for each in sessions if _fits(each, query)]
    expression = match_expression(query.words)
    if not expression:
        return tuple(FoundSession(session=each) for each in fitting[: query.limit])

    def work(connection: sqlite3.Connection) -> tuple[FoundSession, ...]:
        without_removed(connection)
        by_log = brought_up_to_date(connection, fitting, progress)
        return _matching(connection, expression, by_log, query)

    return INDEX.use(user_directory, work, notify)


def forget_removed(user_directory: Path | None, notify: Notify) -> None:
    """Remove the texts of deleted sessions from the index."""
    path = INDEX.path(user_directory)
    if path is not None and path.exists():
        INDEX.use(user_directory, without_removed, notify)


def match_expression(words: str) -> str:
    """The words in SQLite's syntax: all must match; "quoted words" in this order, `begin*` as a prefix."""
    terms = []
    for term in PHRASE.finditer(without_surrogates(words)):
        text = term["phrase"] if term["phrase"] is not None else term["word"]
        is_beginning = term["word"] is not None and text.endswith("*")
        text = text.rstrip("*") if is_beginning else text
        if any(character.isalnum() for character in text):
            text = with_separators(text.replace('"', "").replace("\x00", ""))
            terms.append(f'"{text}"' + ("*" if is_beginning else ""))
    return " AND ".join(terms[:MAX_TERMS])


def _matching(
    connection: sqlite3.Connection, expression: str, by_log: dict[int, CataloguedSession], query: SearchQuery
) -> tuple[FoundSession, ...]:
    numbers: dict[int, list[int]] = {}
    for (number,) in connection.execute("SELECT rowid FROM entry WHERE entry MATCH ? ORDER BY rank", (expression,)):
        session = by_log.get(number >> TIME_BITS)
        if session is None or _ts(number, session) < query.since_ms:
            continue
        if number >> TIME_BITS not in numbers and len(numbers) == query.limit:
            continue
        numbers.setdefault(number >> TIME_BITS, []).append(number)
    return tuple(
        FoundSession(
            session=by_log[log],
            texts=tuple(_passage(connection, expression, number, by_log[log]) for number in matches[:SNIPPETS]),
        )
        for log, matches in numbers.items()
    )


def _passage(connection: sqlite3.Connection, expression: str, number: int, session: CataloguedSession) -> FoundPassage:
    row = connection.execute(
        "SELECT kind, tool, snippet(entry, 0, ?, ?, '…', ?) FROM entry WHERE entry MATCH ? AND rowid = ?",
        (FOUND, FOUND_END, WORDS_IN_SNIPPET, expression, number),
    ).fetchone()
    kind, tool, snippet = row
    return FoundPassage(ts=_ts(number, session), kind=kind, tool=tool, snippet=without_separators(snippet))


def _ts(number: int, session: CataloguedSession) -> int:
    return session.summary.first_ts + (number & TIME_MASK)


def _fits(session: CataloguedSession, query: SearchQuery) -> bool:
    summary = session.summary
    return (
        summary.last_ts >= query.since_ms
        and (query.tool is None or query.tool.lower() in {tool.lower() for tool in summary.tools})
        and (query.model is None or any(query.model.lower() in model.lower() for model in summary.models))
        and (query.file is None or any(_is_file(path, session.cwd, query.file) for path in summary.files))
    )


def _is_file(named: str, cwd: str, file: Path) -> bool:
    """Whether a call named this file, which is absolute."""
    return os.path.normpath(Path(cwd) / named) == os.path.normpath(file)
