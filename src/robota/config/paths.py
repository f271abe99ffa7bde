"""The paths of Robota's files in the user's directory and in a workspace."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from robota.config.errors import ConfigError

MANAGED_SETTINGS: Final = Path("/etc/robota/managed-settings.json")

# Relative to the workspace, with slashes.
CLAUDE_SETTINGS: Final = ".claude/settings.json"
CLAUDE_LOCAL_SETTINGS: Final = ".claude/settings.local.json"
PROJECT_SETTINGS: Final = ".robota/settings.json"
LOCAL_SETTINGS: Final = ".robota/settings.local.json"


def user_directory(env: Mapping[str, str]) -> Path:
    """`ROBOTA_HOME`, or `.robota` in the home directory. It is not created."""
    chosen = env.get("ROBOTA_HOME")
    if chosen:
        return Path(chosen).absolute()
    return home_directory(env) / ".robota"


def settings_path(env: Mapping[str, str]) -> Path:
    """The settings file of the user."""
    return user_directory(env) / "settings.json"


def home_directory(env: Mapping[str, str]) -> Path:
    """The home directory of the user, from the environment or the user database."""
    home = env.get("HOME")
    if home:
        return Path(home).absolute()
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        raise ConfigError("There is no home directory: set HOME or ROBOTA_HOME.") from error


def known_home(env: Mapping[str, str]) -> Path | None:
    """The home directory of the user; None if there is none."""
    try:
        return home_directory(env)
    except ConfigError:
        return None


def repository_top(directory: Path) -> Path | None:
    """The nearest directory at or above this one that has a `.git`, found without git; None if there is none."""
    return next((place for place in (directory, *directory.parents) if os.path.lexists(place / ".git")), None)
