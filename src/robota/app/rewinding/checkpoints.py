"""Builds the checkpoints and the rewinder of a session."""

import time
from collections.abc import Callable, Mapping
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from robota.config.paths import home_directory, user_directory
from robota.config.settings.schema import CheckpointSettings
from robota.engine.calls.call_checkpoints import CallCheckpoints, Capture
from robota.engine.record.journal import LogPort
from robota.log.snapshot_keeper import rewind_index_path
from robota.log.store import fallback_directory
from robota.workspace.files.confined_paths import HeldRoot

if TYPE_CHECKING:
    from robota.contracts.rewind import RewindService
    from robota.workspace.checkpoints.store import CheckpointStore

STORE_NAME = "checkpoints"


def session_checkpoints(
    settings: CheckpointSettings, root: Path, env: Mapping[str, str], log: LogPort
) -> CallCheckpoints | None:
    """The service that saves the workspace before changes; None if checkpoints are off here."""
    if not has_checkpoints(settings, root, env):
        return None
    directory = store_directory(root, env)

    def open_capture() -> Capture:
        from robota.workspace.checkpoints.ignored_files import IgnoredLimits
        from robota.workspace.checkpoints.scan import named_paths

        store, limits = checkpoint_store(settings, root, env), IgnoredLimits()
        store.prune(time.time())
        return lambda paths, commands, with_ignored: store.capture(
            named_paths(store.workspace, paths, commands), limits if with_ignored else None
        )

    def work() -> FileIO | None:
        from robota.workspace.checkpoints.work_lock import lock_for_change

        return lock_for_change(directory)

    return CallCheckpoints(log, open_capture, work)


def session_rewinder(
    settings: CheckpointSettings, held_root: HeldRoot, env: Mapping[str, str], log: LogPort
) -> "Callable[[], RewindService]":
    """A factory for the rewinder of an open session, which is built when it is first needed."""
    root = held_root.path

    def make() -> "RewindService":
        from robota.engine.rewind.rewinder import Rewinder
        from robota.workspace.git.ref_moves import RefMover

        is_on = has_checkpoints(settings, root, env)
        open_store = (lambda: checkpoint_store(settings, held_root, env)) if is_on else None
        index = rewind_index_path(user_directory(env), log.path.parent)
        return Rewinder(log.path, log, open_store, refs=RefMover(root=root, env=env), index=index)

    return make


def has_checkpoints(settings: CheckpointSettings, root: Path, env: Mapping[str, str]) -> bool:
    """Whether a workspace has checkpoints: not if the settings disable them, nor in the home directory."""
    return settings.enabled and root != Path(home_directory(env)).resolve()


def store_directory(root: Path, env: Mapping[str, str]) -> Path:
    """The directory of a workspace's checkpoints, outside the workspace."""
    return fallback_directory(user_directory(env), root) / STORE_NAME


def checkpoint_store(
    settings: CheckpointSettings, workspace: Path | HeldRoot, env: Mapping[str, str]
) -> "CheckpointStore":
    """The checkpoint store of a workspace. Nothing is created yet."""
    from robota.workspace.checkpoints.store import CheckpointStore

    return CheckpointStore(
        store_directory(workspace.path if isinstance(workspace, HeldRoot) else workspace, env),
        workspace,
        env,
        max_file_bytes=settings.max_file_bytes,
        keep_days=settings.keep_days,
        max_bytes=settings.max_bytes,
        own_directories=(user_directory(env),),
    )
