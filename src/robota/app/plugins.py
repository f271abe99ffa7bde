"""The plugins of a session; nothing about plugins is imported where none is installed or wanted."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.config.paths import user_directory
from robota.config.settings.load import Settings

if TYPE_CHECKING:
    from robota.extensions.plugins.active import ActivePlugin

INSTALLED: Final = "plugins/plugins.json"


def session_plugins(
    settings: Settings, project: Path, env: Mapping[str, str]
) -> "tuple[tuple[ActivePlugin, ...], tuple[str, ...]]":
    """The plugins for a project that are switched on and as the person agreed to them; lines about the others."""
    wanted = settings.values.enabled_plugins
    if not wanted and not os.path.lexists(user_directory(env) / INSTALLED):
        return (), ()
    from robota.extensions.plugins.active import active_plugins

    found = active_plugins(project, wanted, env)
    return found.plugins, found.notices
