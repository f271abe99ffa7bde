"""`--configure-provider`: check a provider profile given by options and write it to the user's settings."""

import re
import sys
from collections.abc import Mapping
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.paths import settings_path
from robota.config.profiles.profile import PROFILE_NAME, Profile
from robota.config.settings.writer import stored_profile, upsert_profile
from robota.providers.registry import canonical, definition, definitions, missing_fields, with_defaults
from robota.secrets.named_values import ENV_REFERENCE, VARIABLE_NAME

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
CONFIGURATION: Final = 3


class ProviderChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `--configure-provider`."""

    name: str
    type: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    api_key_env: str | None = None
    model: str | None = None
    set_current: bool = False


class InvalidProvider(Exception):
    """The options are inconsistent; nothing was written."""


def configure_provider(choice: ProviderChoice, env: Mapping[str, str]) -> int:
    """Write the profile and print what to do next. Returns the exit code."""
    try:
        path = settings_path(env)
        profile = _profile(choice, stored_profile(path, choice.name))
        warnings = upsert_profile(path, profile, set_current=choice.set_current)
    except InvalidProvider as error:
        return refuse_usage(str(error))
    except ConfigError as error:
        return refuse_config(error)
    for warning in [*warnings, *_unset_variable(choice, env)]:
        print(f"robota: warning: {warning}", file=sys.stderr)
    if (assumption := _assumption(profile)) is not None:
        print(f"Note: {assumption}")
    current = " It is now the current provider." if choice.set_current else ""
    print(f"Saved profile {choice.name!r} (type {profile.type}) to {path}.{current}")
    chosen = "" if choice.set_current else f" --provider {choice.name}"
    print(f'Try it: robota -p "Say hello."{chosen}')
    return DONE


def ways_to_configure() -> str:
    """Command lines for configuring without a terminal, generated from the provider definitions."""
    kinds = definitions()
    width = max(len(kind.type) for kind in kinds)
    keys = {kind.type: f"; key from {kind.key_variable}" if kind.key_variable else "" for kind in kinds}
    lines = [f"  {kind.type:<{width}}  {kind.display_name}{keys[kind.type]}" for kind in kinds]
    flags = "[--base-url URL] [--model MODEL] [--api-key-env VARIABLE]"
    return "\n".join(
        [
            f"Without a terminal: robota --configure-provider NAME --type TYPE {flags} --set-current",
            "Or set the key variable of one provider: it is used while no profile is configured.",
            "Types:",
            *lines,
            "To try Robota without a model: robota demo",
        ]
    )


def refuse_usage(problem: str) -> int:
    """Print a problem with the options; returns the exit code."""
    print(f"robota: {problem} Nothing was written.", file=sys.stderr)
    return USAGE


def refuse_config(error: ConfigError) -> int:
    """Print a problem with the settings; returns the exit code."""
    print(f"robota: {error}", file=sys.stderr)
    return CONFIGURATION


def _profile(choice: ProviderChoice, before: Profile | None) -> Profile:
    """The profile to write, validated as it will be after the write."""
    _check_names(choice)
    type = choice.type or (before.type if before else None)
    if type is None:
        raise InvalidProvider(f"--type is required, because there is no profile {choice.name!r} yet.")
    try:
        kind = definition(type)
    except ConfigError as error:
        raise InvalidProvider(str(error)) from error
    key = f"{ENV_REFERENCE}{choice.api_key_env}" if choice.api_key_env else choice.api_key
    # An alias in the file is kept.
    spelling = before.type if before and canonical(before.type) == kind.type else kind.type
    profile = Profile(type=spelling, name=choice.name, model=choice.model, base_url=choice.base_url, api_key=key)
    missing = missing_fields(with_defaults(_over(profile, before), kind), kind)
    if missing:
        raise InvalidProvider(f"A profile of type {kind.type} needs {' and '.join(missing)}.")
    return profile


def _assumption(profile: Profile) -> str | None:
    """The assumption about an unknown model; None if it is known, or none is given."""
    kind = definition(profile.type)
    full = with_defaults(profile, kind)
    return kind.model_info(full).assumption if full.model else None


def _check_names(choice: ProviderChoice) -> None:
    if not re.fullmatch(PROFILE_NAME, choice.name):
        raise InvalidProvider(f"{choice.name!r} is not a valid profile name: use letters, digits, '.', '-' and '_'.")
    if choice.api_key is not None and choice.api_key_env is not None:
        raise InvalidProvider("Give --api-key or --api-key-env, not both.")
    if choice.api_key_env is not None and not re.fullmatch(VARIABLE_NAME, choice.api_key_env):
        raise InvalidProvider("--api-key-env takes the name of an environment variable, not the key itself.")
    if choice.base_url is not None and not re.match(r"https?://[^/\s]+", choice.base_url):
        raise InvalidProvider(f"--base-url must start with http:// or https://, and {choice.base_url!r} does not.")


def _over(profile: Profile, before: Profile | None) -> Profile:
    if before is None or before.type != profile.type:
        return profile
    return msgspec.structs.replace(
        before,
        model=profile.model or before.model,
        base_url=profile.base_url or before.base_url,
        api_key=profile.api_key or before.api_key,
    )


def _unset_variable(choice: ProviderChoice, env: Mapping[str, str]) -> list[str]:
    if choice.api_key_env is None or env.get(choice.api_key_env):
        return []
    return [f"the environment variable {choice.api_key_env} is not set now; set it before the first task."]
