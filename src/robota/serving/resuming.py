"""Find the stored session to resume: the newest of a directory, a named one, or one that the user selects."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Final, Protocol

import msgspec

from robota.config.launch_options import workspace_root
from robota.config.paths import user_directory
from robota.log.catalogue.catalogue import CataloguedSession, catalogue
from robota.log.catalogue.find import find_catalogued
from robota.log.catalogue.places import all_places, project_places
from robota.log.chain.writer import wall_clock_ms
from robota.log.errors import LogError, SessionAmbiguous, SessionNotFound
from robota.log.new_session import SESSION_ID_BYTES
from robota.log.store import new_session_id
from robota.text.counted import counted
from robota.text.visible import single_line

TITLE_SHOWN: Final = 60

Tell = Callable[[str], None]


class NotResumed(LogError):
    """No session was resumed. The message says why, and what to do."""


class Newest(msgspec.Struct, frozen=True):
    """The most recent session of the directory."""


class Named(msgspec.Struct, frozen=True):
    """The session with this id, id prefix, name or words."""

    name: str


class Selected(msgspec.Struct, frozen=True):
    """The session that the user selects from a list."""


class CopyOfSession(msgspec.Struct, frozen=True, kw_only=True):
    """Continue in a copy of the session, with this id and name if there are any, up to the record `end`."""

    session_id: str | None = None
    name: str | None = None
    end: int | None = None


class UserAtResumption(Protocol):
    """Where decisions about resuming come from."""

    async def select(self, sessions: Sequence[CataloguedSession]) -> CataloguedSession | None:
        """One of these sessions; None for a new one, if there are none. Raises `NotResumed`."""
        ...

    def agrees_to_foreign(self, warning: str) -> None:
        """Check whether a session that was not written here may be resumed. Raises `NotResumed`."""
        ...


async def session_to_resume(
    cwd: Path,
    which: Newest | Named | Selected,
    user_asked: UserAtResumption,
    env: Mapping[str, str],
    tell: Tell,
    *,
    copied: CopyOfSession | None = None,
) -> Path | None:
    """The directory of the session to resume; None for a new one. Raises `LogError`."""
    root, user = workspace_root(cwd), user_directory(env)
    here = catalogue(project_places(root, user), user, tell)
    session = await _selected_session(here, which, user_asked, root, user, tell)
    if session is None:
        tell(f"There is no session of this directory to continue, so this is a new one.{_passed_over(here)}")
        return None
    if not session.is_own:
        user_asked.agrees_to_foreign(
            f"The session {session.id} ({title_of(session)}) was not written on this machine in this directory: it "
            "came with the directory, or was moved or copied here. Anyone may have written the contents of "
            f"{session.directory}."
        )
    return session.directory if copied is None else copy_of_session(session.directory, copied, root, user, env)


def title_of(session: CataloguedSession) -> str:
    """The name of the session, or the beginning of its first prompt."""
    return single_line(session.name or session.summary.title, TITLE_SHOWN)


async def _selected_session(
    here: Sequence[CataloguedSession],
    which: Newest | Named | Selected,
    user_asked: UserAtResumption,
    root: Path,
    user: Path,
    tell: Tell,
) -> CataloguedSession | None:
    match which:
        case Newest():
            return _newest(here, root)
        case Named(name):
            return _named(here, name, root, user, tell)
        case Selected():
            offered = [session for session in here if session.summary.turns and not session.is_agent]
            return await user_asked.select(offered)


def _newest(sessions: Sequence[CataloguedSession], root: Path) -> CataloguedSession | None:
    """The most recently written session of this directory that is not empty."""
    own = (stored for stored in sessions if stored.is_own and not stored.is_agent and stored.cwd == str(root))
    return next((stored for stored in own if stored.summary.turns), None)


def _passed_over(sessions: Sequence[CataloguedSession]) -> str:
    """The notice about sessions that `--continue` does not resume by itself."""
    foreign = sum(1 for session in sessions if not session.is_own and session.summary.turns)
    if not foreign:
        return ""
    return (
        f" {counted(foreign, 'session')} not written on this machine in this directory "
        f"{'was' if foreign == 1 else 'were'} skipped, as after the directory was moved or copied; "
        "robota --resume lets you choose one."
    )


def _named(here: Sequence[CataloguedSession], name: str, root: Path, user: Path, tell: Tell) -> CataloguedSession:
    try:
        return find_catalogued(here, name)
    except SessionNotFound:
        everywhere = catalogue(all_places(root, user), user, tell)
        try:
            elsewhere = find_catalogued(everywhere, name)
        except SessionAmbiguous as error:
            raise NotResumed(f"Not in this directory, but in another one: {error}") from error
    directory = single_line(elsewhere.workspace, 4096)
    raise NotResumed(
        f"The session {elsewhere.id} ({title_of(elsewhere)}) belongs to {directory}. Nothing was started. "
        f"To resume it: robota --cwd {quote(directory)} --resume {elsewhere.id}"
    )


def copy_of_session(directory: Path, copied: CopyOfSession, root: Path, user: Path, env: Mapping[str, str]) -> Path:
    """A copy of the session with a new id; the session itself stays unchanged."""
    from robota.log.kinds.session import kept_name
    from robota.log.snapshot_keeper import rewind_index_path
    from robota.log.transfer.draft import DraftSession
    from robota.log.transfer.fork import fork_of, write_fork
    from robota.secrets.named_values import secret_variables
    from robota.secrets.redaction import Redactor

    now_ms = wall_clock_ms()
    new_id = copied.session_id or new_session_id(now_ms, os.urandom(SESSION_ID_BYTES))
    with DraftSession(root, user, new_id, Redactor(secret_variables(env))) as draft:
        fork = fork_of(directory, None, rewind_index_path(user, directory))
        if copied.end is not None:
            fork = msgspec.structs.replace(fork, end=copied.end)
        write_fork(draft, fork, new_id, kept_name(copied.name), now_ms)
        return draft.finish()
