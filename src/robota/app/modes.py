"""Loads the task modes: built-in, user and trusted workspace."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.config.paths import user_directory
from robota.config.settings.load import Settings
from robota.policy.modes.task_modes import TaskModes, known_modes

USER_MODES: Final = "modes.yaml"
WORKSPACE_MODES: Final = (".roomodes", ".robota/modes.yaml")


def task_modes(
    launch: LaunchOptions, settings: Settings, root: Path, env: Mapping[str, str]
) -> tuple[TaskModes, tuple[str, ...]]:
    """All task modes, and notices about invalid files. Raises `ConfigError` if `launch.mode` is unknown."""
    modes = known_modes()
    notices: tuple[str, ...] = ()
    files = [user_directory(env) / USER_MODES]
    if settings.trust is not None and settings.is_trusted:
        # Only regular files of the trusted snapshot, never links.
        files += [root / path for path in WORKSPACE_MODES if settings.trust.snapshot.data_of(path) is not None]
    if present := [file for file in files if file.is_file()]:
        from robota.policy.modes.mode_file import read_modes

        modes, notices = read_modes(present)
    if launch.mode is not None and launch.mode not in modes:
        raise ConfigError(f"There is no mode {launch.mode!r}; modes are {', '.join(modes)}. Nothing was started.")
    return TaskModes(modes), notices
