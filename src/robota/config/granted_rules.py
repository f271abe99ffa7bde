"""Rules that a person wants to hold beyond the session, written where they said."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from robota.config.errors import ConfigError
from robota.config.paths import settings_path


def keep_rules(scope: str, rules: Sequence[str], root: Path, env: Mapping[str, str]) -> str:
    """Add them to `permissions.allow` of the project or the user. Returns what went wrong, or nothing.

    The rules of a project are part of what was trusted; that the person added to it does not make it less so.
    """
    # Hardly any session gets here, so it pays for this alone.
    from robota.config.settings_writer import add_to_list
    from robota.config.trust import remember, trust_of
    from robota.config.workspace_sources import take_snapshot

    if scope not in ("project", "user"):
        return f"The rules were not kept: {scope!r} is neither project nor user."
    try:
        if scope == "user":
            add_to_list(settings_path(env), ("permissions", "allow"), rules)
            return ""
        was_trusted = trust_of(take_snapshot(root), env).is_given
        add_to_list(root / ".robota" / "settings.local.json", ("permissions", "allow"), rules)
        if was_trusted:
            remember("yes", take_snapshot(root), env, time.time_ns() // 1_000_000)
    except (ConfigError, OSError) as error:
        return f"The rules hold for this session but were not kept: {error}"
    return ""
