"""Selects the stored sessions that a verb works on."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from robota.commands.verb_host import VerbHost
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.log.catalogue.catalogue import CataloguedSession, catalogue
from robota.log.catalogue.find import find_catalogued
from robota.log.catalogue.places import SessionsPlace, all_places, project_places
from robota.log.chain.head import ChainHead, head_path, noted_head
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import SessionNotFound
from robota.protocol.slash_commands import SubcommandInfo
from robota.text.visible import single_line

MAX_TITLE: Final = 80
MAX_COMPLETED: Final = 20
CHECKPOINT_LINE: Final = b'"kind":"checkpoint"'
FROM_ELSEWHERE: Final = "was not written on this machine in this directory; someone else may have created it."


def session_places(host: VerbHost, *, everywhere: bool = False) -> tuple[SessionsPlace, ...]:
    """The directories to search for sessions. `ConfigError` if the given one does not exist."""
    user = own_directory(host.env)
    return all_places(project_of(host), user) if everywhere else project_places(project_of(host), user)


def project_of(host: VerbHost) -> Path:
    """The project of the sessions. Its directory may no longer exist."""
    if host.opened is not None:
        return host.kept_in
    try:
        return host.cwd.resolve()
    except OSError as error:
        problem = f"The directory {host.cwd} cannot be used: {error.strerror}. Nothing was changed"
        raise ConfigError(f"{problem}. Use --cwd to name another one.") from error


def stored_sessions(host: VerbHost, *, everywhere: bool = False) -> tuple[CataloguedSession, ...]:
    """The sessions to choose from, the newest first."""
    return catalogue(session_places(host, everywhere=everywhere), own_directory(host.env), host.tell)


def named_session(host: VerbHost, name: str, *, everywhere: bool = False) -> CataloguedSession:
    """The session of this id, id prefix, name or words. Tells the user if it is from another machine."""
    session = find_catalogued(stored_sessions(host, everywhere=everywhere), name)
    if not session.is_own:
        host.tell(f"The session {session.id} {FROM_ELSEWHERE}")
    return session


def named_or_newest_session(host: VerbHost, name: str | None, *, everywhere: bool = False) -> CataloguedSession:
    """The named session; else that of the conversation, or the newest on this machine, which is announced."""
    if name is not None:
        return named_session(host, name, everywhere=everywhere)
    if host.opened is not None:
        return named_session(host, host.opened.options.session_id)
    session = newest_session(host, everywhere=everywhere)
    title = single_line(session.name or session.summary.title, MAX_TITLE)
    host.tell(f"Using the latest session, {session.id}{f' ({title})' if title else ''}.")
    return session


def newest_session(host: VerbHost, *, everywhere: bool = False) -> CataloguedSession:
    """The most recently written session of this machine. Raises `SessionNotFound`."""
    stored = stored_sessions(host, everywhere=everywhere)
    own = next((each for each in stored if each.is_own and not each.is_agent), None)
    if own is None:
        raise SessionNotFound(
            f"There is no session of this machine in {project_of(host)}. Nothing was changed. Name a session; "
            "`robota sessions list` lists them."
        )
    return own


def session_with_checkpoints(host: VerbHost, name: str | None) -> CataloguedSession:
    """The named session, or the newest one of this machine that has checkpoints.

    A repository can contain logs; those written on this machine are recorded outside it. Raises `SessionNotFound`.
    """
    if name is not None:
        return named_session(host, name)
    for session in stored_sessions(host):
        if session.is_own and _has_checkpoints(session.directory / LOG_NAME):
            host.tell(f"Using session {session.id}, the latest with checkpoints.")
            return session
    raise SessionNotFound(
        f"No session on this machine has changed anything in {host.root}. Nothing was changed. Name a session with "
        "--session."
    )


def session_workspace(session: CataloguedSession, root: Path) -> Path:
    """The directory in which a session worked: its worktree if it had one.

    A log from another machine is not trusted. In one that was resumed here, the newest header counts, written here.
    """
    directory = Path(session.cwd)
    return directory if session.is_own and directory.is_dir() else root


def _has_checkpoints(log: Path) -> bool:
    try:
        with log.open("rb") as lines:
            return any(CHECKPOINT_LINE in line for line in lines)
    except OSError:
        return False


def own_directory(env: Mapping[str, str]) -> Path | None:
    """Robota's directory of the user; None if there is no home directory."""
    try:
        return user_directory(env)
    except ConfigError:
        return None


def noted_end(env: Mapping[str, str], directory: Path) -> ChainHead | None:
    """The end of a session's log as noted outside the workspace while it was written."""
    user = own_directory(env)
    return None if user is None else noted_head(head_path(user, directory))


def session_ids(host: VerbHost) -> Iterable[SubcommandInfo]:
    """The newest sessions, for completion."""
    for session in stored_sessions(host)[:MAX_COMPLETED]:
        title = single_line(session.name or session.summary.title, MAX_TITLE)
        yield SubcommandInfo(name=session.id, description=title)


def refuse_existing(host: VerbHost, path: Path, *, force: bool) -> None:
    """Raise `ConfigError` if a file would be overwritten."""
    if os.path.lexists(path) and not force:
        how = "Choose another --output, or use --force." if host.opened is None else "Use another path."
        raise ConfigError(f"{path} already exists and was left unchanged. {how}")
