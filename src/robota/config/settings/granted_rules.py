"""Saves rules that the user granted for the project or everywhere."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from robota.config.durable_file import only_writer
from robota.config.errors import ConfigError
from robota.config.paths import LOCAL_SETTINGS, settings_path, user_directory
from robota.config.settings.writer import add_to_list
from robota.config.trust.decision import remember, trust_of
from robota.config.trust.lock_file import CONTENTS
from robota.config.trust.sources import Snapshot, take_snapshot


def keep_rules(scope: str, rules: Sequence[str], root: Path, env: Mapping[str, str]) -> str:
    """Add them to `permissions.allow` of the project or the user. Returns what went wrong, or nothing.

    The rules of a project are part of what was trusted; that the person added to it does not make it less so.
    """
    if scope not in ("project", "user"):
        return f"The rules were not saved: {scope!r} is neither project nor user."
    try:
        if scope == "user":
            add_to_list(settings_path(env), ("permissions", "allow"), rules)
        else:
            _add_to_project(rules, root, env)
    except (ConfigError, OSError) as error:
        return f"The rules apply to this session but were not saved: {error}"
    return ""


def _add_to_project(rules: Sequence[str], root: Path, env: Mapping[str, str]) -> None:
    # The lock keeps a second session from seeing the rules of the first before they are trusted.
    with only_writer(user_directory(env) / CONTENTS):
        before = take_snapshot(root)
        was_trusted = trust_of(before, env).is_given
        add_to_list(root / LOCAL_SETTINGS, ("permissions", "allow"), rules, within=root)
        after = take_snapshot(root)
        if was_trusted and _others(before) == _others(after):
            remember("yes", after, env, time.time_ns() // 1_000_000)


def _others(snapshot: Snapshot) -> list[tuple[str, str]]:
    """The other files of the snapshot. A change in these was not seen by the user, so trust is not renewed."""
    return [(source.path, source.digest) for source in snapshot.sources if source.path != LOCAL_SETTINGS]
