"""Switch from one session to another, or to a new one."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from robota.app.session import OpenSession, open_session
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions, workspace_root
from robota.config.paths import user_directory
from robota.config.settings.schema import Effort
from robota.log.catalogue.catalogue import catalogue
from robota.log.catalogue.find import find_catalogued
from robota.log.catalogue.places import project_places
from robota.log.errors import LogError
from robota.protocol.slash_commands import SessionWanted

Tell = Callable[[str], None]


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
        effort=Effort(wanted.effort) if wanted.effort else launch.effort,
        language=wanted.language or launch.language,
    )
