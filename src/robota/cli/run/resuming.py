"""Find the session for `--continue` and `--resume`."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Final

import msgspec

from robota.app.session import OpenSession, open_session
from robota.cli.command_line import CommandLine
from robota.cli.questions import Cancelled, choose, confirm
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions, workspace_root
from robota.config.paths import user_directory
from robota.log.catalogue.catalogue import CataloguedSession, catalogue
from robota.log.catalogue.find import find_catalogued
from robota.log.catalogue.places import all_places, project_places
from robota.log.chain.writer import wall_clock_ms
from robota.log.errors import LogError, SessionAmbiguous, SessionNotFound
from robota.log.new_session import SESSION_ID_BYTES
from robota.log.store import new_session_id
from robota.protocol.slash_commands import SessionWanted
from robota.text.counted import counted
from robota.text.visible import single_line

OFFERED: Final = 20
TITLE_SHOWN: Final = 60

Tell = Callable[[str], None]


class NotResumed(LogError):
    """No session was resumed. The message says why, and what to do."""


async def resumed_session(arguments: CommandLine, env: Mapping[str, str], tell: Tell, *, attended: bool) -> Path | None:
    """The directory of the session to resume; None for a new one. Raises `LogError`."""
    if not arguments.continues and arguments.resume is None:
        return None
    root, user = workspace_root(arguments.cwd), user_directory(env)
    here = catalogue(project_places(root, user), user, tell)
    if arguments.continues:
        session = _newest(here, root)
    elif arguments.resume:
        session = _named(here, arguments.resume, root, user, tell)
    else:
        session = await _picked(here, env, plain=arguments.plain) if attended else _refuse_to_guess(here)
    if session is None:
        tell(f"There is no session of this directory to continue, so this is a new one.{_passed_over(here)}")
        return None
    _check_origin(session, arguments, attended=attended)
    return _forked(session, arguments, root, user, env) if arguments.fork_session else session.directory


def launch_again(launch: LaunchOptions, directory: Path | None) -> LaunchOptions:
    """The launch options for resuming the session in a directory, or for a new one."""
    return launch if directory is None else msgspec.structs.replace(launch, resumes=directory, session_id=None)


def open_wanted(
    launch: LaunchOptions, wanted: SessionWanted, left_id: str, env: Mapping[str, str], tell: Tell
) -> OpenSession:
    """Open the session that the user switches to, or the previous one if that fails."""
    try:
        return open_session(_launch_wanted(launch, wanted, env, tell), env)
    except (ConfigError, LogError) as error:
        tell(f"{error} Continuing in the current session.")
    return open_session(_launch_wanted(launch, SessionWanted(session_id=left_id), env, tell), env)


def _launch_wanted(launch: LaunchOptions, wanted: SessionWanted, env: Mapping[str, str], tell: Tell) -> LaunchOptions:
    """The launch options for the session to switch to, or a new one. `LogError` if it does not exist."""
    if wanted.session_id is None:
        return msgspec.structs.replace(launch, resumes=None, session_id=None, name=None)
    root, user = launch.kept_in or workspace_root(launch.cwd), user_directory(env)
    session = find_catalogued(catalogue(project_places(root, user), user, tell), wanted.session_id)
    return msgspec.structs.replace(
        launch_again(launch, session.directory),
        cwd=root,
        kept_in=None,
        name=None,
        mode=None,
        permission_mode=None,
        provider=wanted.provider,
        model=wanted.model,
        language=wanted.language or launch.language,
    )


def _newest(sessions: Sequence[CataloguedSession], root: Path) -> CataloguedSession | None:
    """The most recently written session of this directory that is not empty."""
    return next(
        (stored for stored in sessions if stored.is_own and stored.cwd == str(root) and stored.summary.turns), None
    )


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
        f"The session {elsewhere.id} ({_title(elsewhere)}) belongs to {directory}. Nothing was started. To resume it: "
        f"robota --cwd {quote(directory)} --resume {elsewhere.id}"
    )


async def _picked(
    sessions: Sequence[CataloguedSession], env: Mapping[str, str], *, plain: bool
) -> CataloguedSession | None:
    """The session that the user selects on a separate screen, or from a numbered list."""
    from robota.cli.run.conversation import can_draw

    offered = [session for session in sessions if session.summary.turns]
    if not offered:
        return None
    if can_draw(env) and not plain:
        from robota.cli.run.session_picker import picked_on_screen

        picked = await picked_on_screen(offered, env)
    else:
        picked = _numbered(offered[:OFFERED])
    if picked is None:
        raise NotResumed("No session was chosen. Nothing was started.")
    return picked


def _numbered(offered: Sequence[CataloguedSession]) -> CataloguedSession | None:
    try:
        return offered[choose("Which session?", [_line(session) for session in offered])]
    except Cancelled:
        return None


def _refuse_to_guess(sessions: Sequence[CataloguedSession]) -> CataloguedSession | None:
    offered = [session for session in sessions if session.summary.turns][:OFFERED]
    if not offered:
        raise NotResumed("There is no session to resume in this directory. Nothing was started.")
    listed = "\n".join(f"  {session.id}  {_title(session)}" for session in offered)
    raise NotResumed(
        f"Choose a session to resume: --resume ID, or --continue for the newest. Nothing was started.\n{listed}"
    )


def _check_origin(session: CataloguedSession, arguments: CommandLine, *, attended: bool) -> None:
    """Raise, or ask the user, unless the session was written here: a repository can contain sessions of others."""
    if session.is_own or arguments.yes:
        return
    warning = (
        f"The session {session.id} ({_title(session)}) was not written on this machine in this directory: it came with "
        f"the directory, or was moved or copied here. Anyone may have written the contents of {session.directory}."
    )
    if not attended:
        raise NotResumed(f"{warning} It was not resumed. To resume it anyway: --yes")
    try:
        is_wanted = confirm(f"{warning}\nResume it?", default=False)
    except Cancelled:
        is_wanted = False
    if not is_wanted:
        raise NotResumed("The session was not resumed. Nothing was started.")


def _forked(session: CataloguedSession, arguments: CommandLine, root: Path, user: Path, env: Mapping[str, str]) -> Path:
    """A copy of the session with a new id; the session itself stays unchanged."""
    from robota.log.kinds.session import kept_name
    from robota.log.snapshot_keeper import rewind_index_path
    from robota.log.transfer.draft import DraftSession
    from robota.log.transfer.fork import fork_of, write_fork
    from robota.secrets.named_values import secret_variables
    from robota.secrets.redaction import Redactor

    now_ms = wall_clock_ms()
    new_id = arguments.session_id or new_session_id(now_ms, os.urandom(SESSION_ID_BYTES))
    with DraftSession(root, user, new_id, Redactor(secret_variables(env))) as draft:
        fork = fork_of(session.directory, None, rewind_index_path(user, session.directory))
        write_fork(draft, fork, new_id, kept_name(arguments.name), now_ms)
        return draft.finish()


def _line(session: CataloguedSession) -> str:
    written = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.modified_ms / 1000))
    return f"{written}  {_title(session)}"


def _title(session: CataloguedSession) -> str:
    return single_line(session.name or session.summary.title, TITLE_SHOWN)
