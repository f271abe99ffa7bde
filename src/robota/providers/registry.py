"""The provider types. The module of a type is imported on first use."""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.keys.api_key import resolve_key
from robota.config.profiles.profile import Profile
from robota.config.settings.schema import Effort
from robota.providers.catalogue import OVERRIDES, entry_of
from robota.providers.chunks import Provider
from robota.providers.definition import CostSource, ProviderDefinition
from robota.providers.pricing import FREE, Price, PricedProvider

# In the order shown to the user.
DEFINITIONS: Final = {
    "anthropic": "robota.providers.kinds.anthropic:DEFINITION",
    "openai": "robota.providers.kinds.openai:DEFINITION",
    "gemini": "robota.providers.kinds.gemini:DEFINITION",
    "openrouter": "robota.providers.kinds.compatible:OPENROUTER",
    "deepseek": "robota.providers.kinds.compatible:DEEPSEEK",
    "mistral": "robota.providers.kinds.compatible:MISTRAL",
    "groq": "robota.providers.kinds.compatible:GROQ",
    "qwen": "robota.providers.kinds.qwen:DEFINITION",
    "ollama": "robota.providers.kinds.compatible:OLLAMA",
    "lmstudio": "robota.providers.kinds.compatible:LMSTUDIO",
    "llamacpp": "robota.providers.kinds.compatible:LLAMACPP",
    "gemma": "robota.providers.kinds.gemma:DEFINITION",
    "local": "robota.providers.local.provider:DEFINITION",
    "openai-compatible": "robota.providers.kinds.openai_compatible:DEFINITION",
    "scripted": "robota.providers.scripted.provider:DEFINITION",
}
ALIASES: Final = {"claude": "anthropic", "google": "gemini", "openai-compat": "openai-compatible"}

# The fields of a profile by their names in the settings.
FIELDS: Final = {field.encode_name: field.name for field in msgspec.structs.fields(Profile)}


class KnownProviders(msgspec.Struct, frozen=True):
    """The provider types of a session: the `own` ones of a program that embeds Robota, then the built-in ones."""

    own: tuple[ProviderDefinition, ...] = ()

    def definition(self, type: str) -> ProviderDefinition:
        """The definition of a type or alias. Raises `ConfigError`."""
        for each in self.own:
            if type == each.type or type in each.aliases:
                return each
        location = DEFINITIONS.get(canonical(type))
        if location is None:
            types = sorted({*DEFINITIONS, *(each.type for each in self.own)})
            raise ConfigError(f"There is no provider type {type!r}. Known types: {', '.join(types)}.")
        module, _, name = location.partition(":")
        provider: ProviderDefinition = getattr(import_module(module), name)
        return provider


BUILT_IN: Final = KnownProviders()


def definition(type: str) -> ProviderDefinition:
    """The definition of a built-in type or alias."""
    return BUILT_IN.definition(type)


def canonical(type: str) -> str:
    """The name of a type, with aliases resolved."""
    return ALIASES.get(type, type)


def definitions() -> Sequence[ProviderDefinition]:
    """All definitions, in the order shown to the user."""
    return [definition(type) for type in DEFINITIONS]


def create(profile: Profile, env: Mapping[str, str] | None = None) -> Provider:
    """A provider for this profile; raises `ConfigError` before anything is sent. `env` resolves `$ENV:NAME`."""
    return open_provider(ready(profile, os.environ if env is None else env))


def open_provider(profile: Profile, known: KnownProviders = BUILT_IN) -> Provider:
    """The provider of a profile that is ready. Its replies say what they cost, wherever a price is known."""
    provider = known.definition(profile.type).create_provider(profile)
    return PricedProvider(provider, lambda model: price_of(profile, model, known))


def price_of(profile: Profile, model: str, known: KnownProviders = BUILT_IN) -> Price | None:
    """The price of a model of a profile; None if it is unknown."""
    price = entry_of(profile, model).facts.price
    return FREE if price is None and known.definition(profile.type).cost_source is CostSource.FREE else price


def ready(
    profile: Profile,
    env: Mapping[str, str],
    models: Mapping[str, Any] | None = None,
    known: KnownProviders = BUILT_IN,
) -> Profile:
    """The profile with the defaults of its type filled in, its key resolved, nothing missing and nothing wrong.

    `models` are facts by model id that the settings give for all profiles; the profile's own come before them.
    """
    kind = known.definition(profile.type)
    full = with_defaults(profile, kind)
    missing = missing_fields(full, kind)
    if missing:
        raise ConfigError(
            f"Provider profile {profile.name!r} of type {kind.type} has no {' and no '.join(missing)}. "
            f"Nothing was sent. Add it with: "
            f"robota --configure-provider {profile.name or 'NAME'} --type {kind.type} {_flags(missing)}"
        )
    whole = msgspec.structs.replace(full, type=kind.type, api_key=resolve_key(full, env))
    if models:
        own = whole.options.get(OVERRIDES, {})
        whole = msgspec.structs.replace(whole, options={**whole.options, OVERRIDES: {**models, **own}})
    kind.model_info(whole)
    return whole


def with_effort(profile: Profile, effort: Effort, known: KnownProviders = BUILT_IN) -> Profile:
    """The profile with the options for this effort, if its model has such options; `effort` takes precedence."""
    kind = known.definition(profile.type)
    if effort not in kind.efforts or not can_think(profile):
        return profile
    return msgspec.structs.replace(profile, options={**profile.options, **kind.efforts[effort]})


def can_think(profile: Profile) -> bool:
    """Whether the model thinks, as far as is known. Of a model that is not in the catalogue it is assumed."""
    entry = entry_of(profile)
    return entry.facts.thinking or not entry.is_known


def with_defaults(profile: Profile, kind: ProviderDefinition) -> Profile:
    """Fields the profile leaves out come from its type; so do single options."""
    changes: dict[str, Any] = {}
    for name, value in kind.defaults.items():
        field = FIELDS[name]
        if field == "options":
            changes[field] = {**value, **profile.options}
        elif getattr(profile, field) is None:
            changes[field] = value
    return msgspec.structs.replace(profile, **changes) if changes else profile


def missing_fields(profile: Profile, kind: ProviderDefinition) -> list[str]:
    """The required fields that the profile lacks, by their names in the settings."""
    required = [step.field for step in kind.setup_steps if step.required]
    if kind.requires_api_key and "apiKey" not in required:
        required.append("apiKey")
    return [name for name in required if not getattr(profile, FIELDS[name])]


def _flags(missing: Sequence[str]) -> str:
    flags = {"baseURL": "--base-url URL", "model": "--model MODEL", "apiKey": "--api-key-env NAME"}
    return " ".join(flags[name] for name in missing if name in flags)
