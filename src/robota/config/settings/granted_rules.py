"""Saves rules that the user granted for the project or everywhere."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from robota.config.errors import ConfigError
from robota.config.paths import LOCAL_SETTINGS, settings_path
from robota.config.settings.own_change import own_change
from robota.config.settings.writer import add_to_list


def keep_rules(scope: str, rules: Sequence[str], root: Path, env: Mapping[str, str]) -> str:
    """Add them to `permissions.allow` of the project or the user. Returns what went wrong, or nothing.

    The rules of a project are part of what was trusted, and it stays trusted although the user added to it.
    """
    if scope not in ("project", "user"):
        return f"The rules were not saved: {scope!r} is neither project nor user."
    try:
        if scope == "user":
            add_to_list(settings_path(env), ("permissions", "allow"), rules)
        else:
            path = root / LOCAL_SETTINGS
            with own_change(root, path, env):
                add_to_list(path, ("permissions", "allow"), rules, within=root)
    except (ConfigError, OSError) as error:
        return f"The rules apply to this session but were not saved: {error}"
    return ""
