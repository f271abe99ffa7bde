"""The launch options of a resumed session: those it had, unless the command line overrides them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from robota.agents.worktrees.directory import lies_in_worktree
from robota.app.policy import task_modes
from robota.config.launch_options import LaunchOptions, settings_for, workspace_root
from robota.config.settings.schema import Completion
from robota.log.kinds.session import SessionHeader, kept_name
from robota.log.reopening import ReopenedSession
from robota.log.replay.session import SessionFold
from robota.protocol.permission_mode import PermissionMode
from robota.providers.environment_profile import environment_profiles
from robota.text.visible import single_line

NOT_RESTORED: Final = (
    "The session ran with {mode}, which is not restored{reason}: to use it again, add --permission-mode {mode}."
)
APPROVALS: Final = (PermissionMode.BYPASS, PermissionMode.CONFINED)
NOT_OWN: Final = ", because its log is not as it was written here"


def restored_options(
    launch: LaunchOptions, found: ReopenedSession, env: Mapping[str, str]
) -> tuple[LaunchOptions, tuple[str, ...]]:
    """The launch options, completed with those of the session, and notices about what could not be restored.

    The permission mode counts as if it were given on the command line, so managed settings override it.
    """
    session = found.session
    header = session.header
    if header is None:
        return launch, ()
    notices: list[str] = []
    launch = _with_directory(launch, header, notices)
    # A foreign log must not choose which provider of the user gets to see the project.
    launch = _with_model(launch, header, env, notices) if found.is_own else launch
    launch = msgspec.structs.replace(
        launch,
        permission_mode=launch.permission_mode or _restored_mode(header.permission_mode, found, notices),
        completion=launch.completion or Completion.recorded(header.completion),
        name=kept_name(launch.name) or session.name,
    )
    return _with_mode(launch, session, env, notices), tuple(notices)


def _restored_mode(
    recorded: PermissionMode | None, found: ReopenedSession, notices: list[str]
) -> PermissionMode | None:
    """The recorded permission mode, unless it is an approval.

    Bypass and confined are; acceptEdits counts as one if the log is not from this machine.
    """
    is_approval = recorded in APPROVALS or (recorded is PermissionMode.ACCEPT_EDITS and not found.is_own)
    if not is_approval:
        return recorded
    notices.append(NOT_RESTORED.format(mode=recorded, reason="" if found.is_own else NOT_OWN))
    return None


def _with_directory(launch: LaunchOptions, header: SessionHeader, notices: list[str]) -> LaunchOptions:
    """A session of a worktree continues there, any other one in the current directory."""
    root, was = workspace_root(launch.cwd), Path(header.cwd)
    if was == root:
        return launch
    if was.is_dir() and lies_in_worktree(was, root):
        return msgspec.structs.replace(launch, cwd=was, kept_in=root)
    where = single_line(header.cwd, 4096)
    notices.append(f"The session worked in {where}, which is not this directory. It continues in {root}.")
    return launch


def _with_model(
    launch: LaunchOptions, header: SessionHeader, env: Mapping[str, str], notices: list[str]
) -> LaunchOptions:
    if launch.profile is not None or launch.provider is not None or not header.provider:
        return launch
    settings = settings_for(launch, workspace_root(launch.cwd), env)
    if header.provider not in {*settings.values.providers, *environment_profiles(settings, env)}:
        recorded = single_line(header.provider)
        notices.append(
            f"The session worked with {recorded!r}, which is no configured provider profile; the current one is used."
        )
        return launch
    return msgspec.structs.replace(launch, provider=header.provider, model=launch.model or header.model)


def _with_mode(
    launch: LaunchOptions, session: SessionFold, env: Mapping[str, str], notices: list[str]
) -> LaunchOptions:
    mode = session.root.mode if session.root is not None else ""
    if launch.mode is not None or not mode:
        return launch
    root = workspace_root(launch.cwd)
    modes, _ = task_modes(launch, settings_for(launch, root, env), root, env)
    if mode not in modes.roles:
        notices.append(f"There is no mode {single_line(mode)!r} anymore; the task continues in the default mode.")
        return launch
    return msgspec.structs.replace(launch, mode=mode)
