"""The stored sessions of a project, for commands: listed to resume, searched, previewed."""

import re
import time
from typing import Final

from robota.commands.host import CommandHost
from robota.config.paths import user_directory
from robota.log.catalogue.catalogue import CataloguedSession, catalogue
from robota.log.catalogue.find import find_catalogued
from robota.log.catalogue.places import project_places
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import LogError
from robota.log.replay.rows.past_calls import past_calls
from robota.log.replay.tail import tail_of
from robota.log.search.search import FOUND, FOUND_END, FoundSession, SearchQuery
from robota.log.search.search import search as search_sessions
from robota.protocol.commands import Refused
from robota.protocol.events import OlderRows
from robota.protocol.slash_commands import CommandOption, RowsShown, SessionWanted
from robota.text.visible import single_line

MAX_OPTIONS: Final = 20
MAX_TITLE: Final = 60
MAX_SNIPPET: Final = 200
PREVIEW_ROWS: Final = 40
UNKNOWN_OLDER: Final = 1


class StoredSessions:
    """The other sessions of a project. Every method reads files."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host
        self._user = user_directory(host.env)

    def resumable(self) -> tuple[CommandOption, ...]:
        """The newest sessions that can be resumed, as options."""
        usable = [each for each in self._others() if each.is_own and not each.is_live]
        return tuple(_option(each, _title(each)) for each in usable[:MAX_OPTIONS])

    def newest(self) -> dict[str, str]:
        """The titles of the newest sessions, by id."""
        return {each.id: _title(each) for each in self._others()[:MAX_OPTIONS]}

    def search(self, words: str) -> tuple[CommandOption, ...]:
        """The sessions that contain these words, best first, as options."""
        matches = search_sessions(self._others(), SearchQuery(words=words, limit=MAX_OPTIONS), self._user, _ignore)
        return tuple(_option(each.session, f"{_title(each.session)}{_passage(each)}") for each in matches)

    def resolve(self, words: str) -> SessionWanted | Refused:
        """The session that an id or words resolve to, or a refusal if it cannot be resumed from here."""
        try:
            session = find_catalogued(self._others(), words)
        except LogError as error:
            return Refused(code="no_session", message=str(error))
        label = f"The session {session.id} ({_title(session)})"
        if not session.is_own:
            why = f"{label} was not written on this machine in this directory. Nothing was changed. "
            how = f"To review it, exit and run: robota --resume {session.id}"
            return Refused(code="foreign_session", message=why + how)
        if session.is_live:
            return Refused(code="session_in_use", message=f"{label} is open in another process. Close it there first.")
        return SessionWanted(session_id=session.id)

    def newest_rows(self, session_id: str) -> RowsShown | Refused:
        """The newest rows of a session, as a preview."""
        session = next((each for each in self._others() if each.id == session_id), None)
        if session is None:
            return Refused(code="no_session", message=f"There is no session {single_line(session_id)}.")
        return newest_rows_of(session)

    def _others(self) -> tuple[CataloguedSession, ...]:
        """The sessions other than this one with at least one turn, newest first."""
        every = catalogue(project_places(self._host.kept_in, self._user), self._user, _ignore)
        return tuple(each for each in every if each.id != self._host.options.session_id and each.summary.turns)


def newest_rows_of(session: CataloguedSession) -> RowsShown | Refused:
    """The newest rows of a session, as a preview."""
    try:
        tail = tail_of(session.directory / LOG_NAME, PREVIEW_ROWS)
    except (LogError, OSError) as error:
        return Refused(code="unreadable", message=str(error))
    root = tail.session.root
    rows = () if root is None else root.messages[-PREVIEW_ROWS:]
    if root is None or not rows:
        return Refused(code="nothing_said", message=f"Nothing was said in the session {single_line(session.id)}.")
    older = len(root.messages) - len(rows) + (0 if tail.is_whole else UNKNOWN_OLDER)
    calls = past_calls(rows, root.calls)
    return RowsShown(rows=OlderRows(task_id=root.task_id, messages=rows, calls=calls, older_rows=older))


def _title(session: CataloguedSession) -> str:
    return single_line(session.name or session.summary.title, MAX_TITLE)


def _option(session: CataloguedSession, detail: str) -> CommandOption:
    written = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.modified_ms / 1000))
    preview = f"/resume --show {session.id}"
    return CommandOption(label=written, line=f"/resume {session.id}", detail=detail, preview=preview)


def _passage(found: FoundSession) -> str:
    if not found.texts:
        return ""
    snippet = re.sub(f"[{FOUND}{FOUND_END}]", "", found.texts[0].snippet)
    return f" — {single_line(' '.join(snippet.split()), MAX_SNIPPET)}"


def _ignore(text: str) -> None:
    """Ignore problems with the index: they make a search slower, not wrong."""
