"""The models of a server: asking for them, and what is known about each of them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles.announced_models import announced_models, remember_announced
from robota.config.profiles.profile import Profile
from robota.providers.catalogue import OVERRIDES
from robota.providers.definition import OfferedModel
from robota.providers.registry import definition, ready

LIST_TIMEOUT_S: Final = 15.0


async def list_models(
    profile: Profile, env: Mapping[str, str], timeout_s: float = LIST_TIMEOUT_S
) -> Sequence[OfferedModel]:
    """The models of a profile's server; only its own model if it has no list. `ConfigError` or `ProviderFault`.

    What the server announces is remembered for later sessions.
    """
    # A profile that is being created has no model yet; it is chosen from this list.
    full = ready(msgspec.structs.replace(profile, model=profile.model or "unknown"), env)
    ask = definition(full.type).list_models
    if ask is None:
        return [OfferedModel(name=profile.model)] if profile.model else []
    try:
        async with asyncio.timeout(timeout_s):
            offered = await ask(full)
    except TimeoutError as error:
        raise ConfigError(f"No answer within {timeout_s:g} seconds.") from error
    windows = {model.name: model.context_window for model in offered}
    await asyncio.to_thread(remember_announced, full.base_url, windows, env)
    return offered


def with_announced_window(profile: Profile, env: Mapping[str, str]) -> Profile:
    """The profile with the window that its server once announced for its model."""
    return with_window(profile, announced_models(profile.base_url, env).get(profile.model or ""))


def with_window(profile: Profile, window: int | None) -> Profile:
    """The profile with the context window of its model, if it is known. What the settings say comes first."""
    if window is None:
        return profile
    facts = profile.options.get(OVERRIDES, {})
    model_facts = {"contextWindow": window, **facts.get(profile.model, {})}
    options = {**profile.options, OVERRIDES: {**facts, profile.model: model_facts}}
    return msgspec.structs.replace(profile, options=options)
