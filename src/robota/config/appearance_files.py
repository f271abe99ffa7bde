"""The user's own files about the looks and keys of the terminal UI: themes by name, and key bindings."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from robota.config.durable_file import read_file
from robota.config.paths import user_directory

THEME_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
MAX_BYTES: Final = 256 * 1024


def theme_path(name: str, env: Mapping[str, str]) -> Path:
    """Where a theme of this name would be."""
    return user_directory(env) / "themes" / f"{name}.json"


def theme_names(env: Mapping[str, str]) -> Sequence[str]:
    """The names of the user's themes."""
    directory = user_directory(env) / "themes"
    try:
        return sorted(path.stem for path in directory.iterdir() if path.suffix == ".json")
    except OSError:
        return ()


def theme_content(name: str, env: Mapping[str, str]) -> bytes | None:
    """The content of a theme; None if there is no such file. Raises `OSError` if it cannot be read."""
    return _content(theme_path(name, env)) if THEME_NAME.fullmatch(name) else None


def key_bindings_path(env: Mapping[str, str]) -> Path:
    """Where the user's key bindings would be."""
    return user_directory(env) / "keybindings.json"


def key_bindings_content(env: Mapping[str, str]) -> bytes | None:
    """The content of the key bindings; None if there are none. Raises `OSError` if they cannot be read."""
    return _content(key_bindings_path(env))


def _content(path: Path) -> bytes | None:
    try:
        return read_file(path, most=MAX_BYTES)
    except FileNotFoundError:
        return None
