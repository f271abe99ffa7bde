"""`--configure-provider`: writes a provider profile into the person's settings."""

import re
import sys
from collections.abc import Mapping
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.paths import settings_path
from robota.config.profiles import Profile
from robota.config.settings import ENV_MARK, load_settings
from robota.config.settings_writer import upsert_profile
from robota.providers.registry import canonical, definition, missing_fields, with_defaults

DONE: Final = 0
USAGE: Final = 2
CONFIGURATION: Final = 3

PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ProviderChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What was said on the command line."""

    name: str
    type: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    api_key_env: str | None = None
    model: str | None = None
    set_current: bool = False


class UsageError(Exception):
    """The arguments make no sense together; nothing was written."""


def configure_provider(choice: ProviderChoice, env: Mapping[str, str]) -> int:
    """Write the profile and say what to do next. Returns the exit code."""
    try:
        path = settings_path(env)
        profile = _profile(choice, load_settings(path).providers.get(choice.name))
        warnings = upsert_profile(path, profile, set_current=choice.set_current)
    except UsageError as error:
        print(f"robota: {error} Nothing was written.", file=sys.stderr)
        return USAGE
    except ConfigError as error:
        print(f"robota: {error}", file=sys.stderr)
        return CONFIGURATION
    for warning in [*warnings, *_unset_variable(choice, env)]:
        print(f"robota: warning: {warning}", file=sys.stderr)
    current = " It is now the current one." if choice.set_current else ""
    print(f"Provider profile {choice.name!r} (type {profile.type}) was written to {path}.{current}")
    chosen = "" if choice.set_current else f" --provider {choice.name}"
    print(f'Try it: robota -p "Say hello."{chosen}')
    return DONE


def _profile(choice: ProviderChoice, before: Profile | None) -> Profile:
    """The profile to write, checked against its type as it will stand after the write."""
    _check_names(choice)
    type = choice.type or (before.type if before else None)
    if type is None:
        raise UsageError(f"--type is needed, because there is no profile {choice.name!r} yet.")
    try:
        kind = definition(type)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    key = f"{ENV_MARK}{choice.api_key_env}" if choice.api_key_env else choice.api_key
    # An alias that stands in the file stays as it was written.
    spelling = before.type if before and canonical(before.type) == kind.type else kind.type
    profile = Profile(type=spelling, name=choice.name, model=choice.model, base_url=choice.base_url, api_key=key)
    missing = missing_fields(with_defaults(_over(profile, before), kind), kind)
    if missing:
        raise UsageError(f"A profile of type {kind.type} needs {' and '.join(missing)}.")
    return profile


def _check_names(choice: ProviderChoice) -> None:
    if not PROFILE_NAME.fullmatch(choice.name):
        raise UsageError(f"{choice.name!r} cannot name a profile: use letters, digits, dot, dash and underscore.")
    if choice.api_key is not None and choice.api_key_env is not None:
        raise UsageError("Give --api-key or --api-key-env, not both.")
    if choice.api_key_env is not None and not VARIABLE_NAME.fullmatch(choice.api_key_env):
        raise UsageError("--api-key-env takes the name of an environment variable, not the key itself.")
    if choice.base_url is not None and not re.match(r"https?://[^/\s]+", choice.base_url):
        raise UsageError(f"--base-url must start with http:// or https://, and {choice.base_url!r} does not.")


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
