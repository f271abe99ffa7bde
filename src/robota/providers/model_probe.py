"""Asks a server for the model of a profile, to see that address, key and model are right."""

from collections.abc import Mapping

from robota.config.profiles.profile import Profile
from robota.providers.definition import Probed
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.http.client import Http


async def probe_model(profile: Profile, url: str, headers: Mapping[str, str]) -> Probed:
    """Whether it is there; raises `ProviderFault` if the server cannot be used at all."""
    http = Http(idle_timeout_s=profile.timeout, secrets=(profile.api_key or "",))
    try:
        await http.get(url, headers)
    except ProviderFault as fault:
        if fault.kind is not FaultKind.MODEL_NOT_FOUND:
            raise
        return Probed(text=f"The server answers, but does not know {profile.model}.", offers_model=False)
    finally:
        await http.close()
    return Probed(text=f"The server answers and offers {profile.model}.")
