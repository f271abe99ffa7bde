"""Saves a setting that a slash command changed in the settings of the user, for later sessions."""

import asyncio
from typing import Any

from robota.commands.host import CommandHost
from robota.config.errors import ConfigError
from robota.config.paths import settings_path
from robota.protocol.commands import Refused


async def save_setting(host: CommandHost, key: tuple[str, ...], value: Any) -> Refused | None:
    """Write a setting of the user; None as a value removes it. Returns a refusal if it cannot be written."""
    # Loaded late: few conversations change a setting.
    from robota.config.settings.writer import remove_value, set_value

    path = settings_path(host.env)
    try:
        if value is None:
            await asyncio.to_thread(remove_value, path, key)
        else:
            await asyncio.to_thread(set_value, path, key, value)
    except (ConfigError, OSError) as error:
        return Refused(code="not_written", message=f"{error} Nothing was changed.")
    return None
