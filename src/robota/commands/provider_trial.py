"""Probe whether a provider profile works, by a request to its server."""

import asyncio
from collections.abc import Mapping
from typing import Final

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.providers.definition import Probed
from robota.providers.registry import definition, ready

PROBE_SECONDS: Final = 15.0


async def probe(profile: Profile, env: Mapping[str, str], limit_s: float) -> Probed:
    """Probe the provider; raises `ConfigError` or `ProviderFault` if it does not answer."""
    full = ready(profile, env)
    kind = definition(full.type)
    ask_it = kind.probe_profile
    if ask_it is None:
        # Creating one shows at least whether everything it needs is installed.
        await kind.create_provider(full).close()
        return Probed(text="This type has no server to check; the profile is complete.")
    try:
        async with asyncio.timeout(limit_s):
            return await ask_it(full)
    except TimeoutError as error:
        raise ConfigError(f"No answer within {limit_s:g} seconds.") from error
