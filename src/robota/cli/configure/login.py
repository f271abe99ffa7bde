"""`robota login`: store the key of a provider in the system's keyring or in the user's settings."""

import asyncio
import os
import sys
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from robota.cli.questions import Cancelled, ask_secret, at_terminal, choose
from robota.commands.provider_trial import PROBE_SECONDS, probe
from robota.commands.verb import Answer, Family, ProgramVerb, VerbFailed, WrongArguments, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.errors import ConfigError
from robota.config.keys.keyring_store import is_available, write_secret
from robota.config.paths import settings_path
from robota.config.profiles.profile import Profile
from robota.config.settings.writer import read_raw, stored_profile, upsert_profile
from robota.protocol.slash_commands import CommandShown
from robota.protocol.views import TextView
from robota.providers.definition import ProviderDefinition
from robota.providers.fault import ProviderFault
from robota.providers.registry import definition, definitions, missing_fields, with_defaults
from robota.secrets.named_values import KEYRING_REFERENCE

LEFT: Final = 130
MAX_KEY_LENGTH: Final = 10_000


class LoggedIn(msgspec.Struct, frozen=True, kw_only=True):
    """The provider, and how its key is read and checked."""

    provider: Annotated[str | None, Positional("PROVIDER", "provider type, or name of a profile")] = None
    with_key: Annotated[bool, Option("read the key from standard input")] = False
    no_check: Annotated[bool, Option("do not check the key with the provider")] = False


def log_in(host: VerbHost, args: LoggedIn) -> Answer:
    """Read the key, check it, and store it."""
    try:
        profile = _profile(args.provider, os.environ)
        key = _key(profile, from_stdin=args.with_key)
    except Cancelled:
        return Answer(outcome=CommandShown(view=TextView(text="Nothing was written.")), exit_code=LEFT)
    except ValueError as error:
        raise WrongArguments(f"{error} Nothing was written.") from error
    if not args.no_check:
        host.say(_checked_by_provider(msgspec.structs.replace(profile, api_key=key), os.environ))
    return _store_key(profile, key, os.environ)


def keyed_kinds() -> list[ProviderDefinition]:
    """The kinds of providers that need a key."""
    return [kind for kind in definitions() if kind.requires_api_key]


def _profile(given: str | None, env: Mapping[str, str]) -> Profile:
    """The profile for the key: an existing one, or a new one with the defaults of its kind."""
    name = given or _asked_kind()
    stored = stored_profile(settings_path(env), name)
    if stored is not None:
        return msgspec.structs.replace(stored, name=name)
    try:
        kind = definition(name)
    except ConfigError as error:
        raise ValueError(str(error)) from error
    profile = Profile(type=kind.type, name=kind.type, api_key="given below")
    missing = missing_fields(with_defaults(profile, kind), kind)
    if missing:
        raise ValueError(f"A profile of type {kind.type} also needs {' and '.join(missing)}: robota --configure.")
    return profile


def _asked_kind() -> str:
    kinds = keyed_kinds()
    if not at_terminal():
        types = ", ".join(kind.type for kind in kinds)
        raise ValueError(f"Specify the provider: robota login PROVIDER. Known: {types}.")
    index = choose("Which provider is the key for?", [kind.display_name for kind in kinds])
    return kinds[index].type


def _key(profile: Profile, *, from_stdin: bool) -> str:
    if not from_stdin and at_terminal():
        return _checked(ask_secret(f"API key of {definition(profile.type).display_name}"))
    if sys.stdin.isatty():
        raise ValueError(
            "This is not a terminal, so the key cannot be typed. Pipe it in: robota login PROVIDER --with-key < FILE."
        )
    return _checked(sys.stdin.read(MAX_KEY_LENGTH).strip())


def _checked(key: str) -> str:
    if not key:
        raise ValueError("The key is empty.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("The key contains a character that no API key has.")
    return key


def _checked_by_provider(profile: Profile, env: Mapping[str, str]) -> str:
    """What the provider says about the key."""
    try:
        return asyncio.run(probe(profile, env, PROBE_SECONDS)).text
    except (ProviderFault, ConfigError) as error:
        raise VerbFailed(f"The key was not stored: {error} To store it without checking it: --no-check") from error


def _store_key(profile: Profile, key: str, env: Mapping[str, str]) -> Answer:
    path = settings_path(env)
    in_keyring = is_available()
    if in_keyring:
        write_secret(profile.name, key)
    kept = f"{KEYRING_REFERENCE}{profile.name}" if in_keyring else key
    is_first = not read_raw(path).get("currentProvider")
    warnings = upsert_profile(path, msgspec.structs.replace(profile, api_key=kept), set_current=is_first)
    where = "in the system keyring" if in_keyring else f"in {path}, readable only by you"
    current = " It is now the current provider." if is_first else ""
    stored = told(
        f"The key of {profile.name!r} was stored {where}.{current}\nTo remove it: robota logout {profile.name}"
    )
    return msgspec.structs.replace(stored, notices=tuple(f"warning: {warning}" for warning in warnings))


FAMILY: Final = Family(
    name="login",
    about="Store an API key in the system keyring or, without one, in your settings file (mode 0600).",
    main=ProgramVerb("login", "", LoggedIn, log_in),
)
