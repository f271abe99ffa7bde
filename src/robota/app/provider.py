"""Resolves the provider profile of a session and opens its provider."""

import os
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.choice import select_profile
from robota.config.profiles.profile import Profile
from robota.config.settings.key_path import join_key
from robota.config.settings.load import Settings
from robota.config.settings.schema import BudgetSettings
from robota.engine.runtime.services import ModelAccess
from robota.providers.chunks import Provider
from robota.providers.pricing import HOUR_WRITE_FACTOR, Price
from robota.providers.registry import KnownProviders, open_provider, price_of, ready, with_effort
from robota.providers.retry import policy_from_options

NO_MODEL: Final = Profile(type="scripted", name="none", model="none", options={"turns": []})


def resolve_profile(launch: LaunchOptions, settings: Settings, env: Mapping[str, str]) -> Profile:
    """The profile of the launch options or settings, with its key. Raises `ConfigError`."""
    if not launch.needs_model:
        return NO_MODEL
    providers = KnownProviders(launch.additions.provider_definitions)
    profile = ready(launch.profile or _current(settings, env), env, settings.values.models, providers)
    profile = with_effort(profile, settings.values.effort, providers)
    if providers.definition(profile.type).list_models is None:
        return profile
    # Loaded late: the scripted model and models on this machine announce nothing.
    from robota.providers.model_list import with_announced_window

    return with_announced_window(profile, env)


def _current(settings: Settings, env: Mapping[str, str]) -> Profile:
    if settings.values.providers:
        return select_profile(settings)
    from robota.providers.environment_profile import current_profile

    return current_profile(settings, env)


def limits_money(budgets: BudgetSettings) -> bool:
    """Whether the settings limit money, so that prices must be known."""
    shared = (budgets.project, budgets.organisation)
    periods = (limit for each in shared for limit in (each.day, each.month, each.total))
    return any(limit.usd is not None for limit in (budgets.session, budgets.agent, *periods))


def require_known_prices(launch: LaunchOptions, settings: Settings, profile: Profile) -> None:
    """Raise `ConfigError` if there is a budget and the price of a model is unknown."""
    if launch.max_cost is None and not limits_money(settings.values.budgets):
        return
    models = (profile.model or "", *settings.values.fallback_models)
    providers = KnownProviders(launch.additions.provider_definitions)
    unpriced = [model for model in models if price_of(profile, model, providers) is None]
    if unpriced:
        key = join_key(("models", unpriced[0], "price"))
        raise ConfigError(
            f"What {', '.join(unpriced)} costs is unknown, so a limit in dollars cannot be kept. Nothing was "
            f"started. Set its price in US dollars per million tokens: robota config set '{key}' "
            '\'{"input": 1, "output": 2}\'. Or limit the tokens: --max-tokens-total N'
        )


def model_access(profile: Profile, reread: Callable[[], Profile] | None, known: KnownProviders) -> ModelAccess:
    """The provider of a profile, with the facts about its model and the retry policy.

    `reread` returns the current profile of the settings, so that a user can correct it after a fault.
    """
    kind = known.definition(profile.type)
    provider, note_fault = (
        (open_provider(profile, known), _nothing) if reread is None else _correctable(profile, reread, known)
    )
    return ModelAccess(
        provider=provider,
        note_fault=note_fault,
        info=kind.model_info(profile),
        api_protocol=kind.api_protocol,
        retry=policy_from_options(profile.options.get("retry")),
        random=_random,
        price_of=lambda model: _dearest(profile, price_of(profile, model, known)),
    )


def _dearest(profile: Profile, price: Price | None) -> Price | None:
    """The price with what is kept in the cache for an hour, if the profile wants that: a hold must cover it."""
    if price is None or profile.options.get("promptCache") != "1h":
        return price
    return msgspec.structs.replace(price, cache_write=HOUR_WRITE_FACTOR * price.input)


def _correctable(
    profile: Profile, reread: Callable[[], Profile], known: KnownProviders
) -> tuple[Provider, Callable[[], None]]:
    # Loaded late: scripts have no user who could correct the profile.
    from robota.providers.correctable_provider import CorrectableProvider

    provider = CorrectableProvider(profile, reread, known)
    return provider, provider.note_fault


def _nothing() -> None:
    pass


def _random() -> float:
    return int.from_bytes(os.urandom(4)) / 2**32
