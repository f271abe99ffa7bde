"""`robota logout`: delete the key of a provider profile and keep the profile."""

import os
from typing import Annotated, Final

import msgspec

from robota.commands.verb import Answer, Family, ProgramVerb, WrongArguments, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Positional
from robota.config.keys.keyring_store import forget_secret
from robota.config.paths import settings_path
from robota.config.settings.writer import read_raw, remove_value, stored_profile
from robota.secrets.named_values import ENV_REFERENCE, KEYRING_REFERENCE


class LoggedOut(msgspec.Struct, frozen=True):
    """Whose key is deleted."""

    provider: Annotated[str, Positional("PROVIDER", "the profile (default: the current one)")] = ""


def log_out(host: VerbHost, args: LoggedOut) -> Answer:
    """Delete the key."""
    path = settings_path(os.environ)
    name = args.provider or str(read_raw(path).get("currentProvider") or "")
    profile = stored_profile(path, name)
    if profile is None:
        problem = f"There is no provider profile {name!r}." if name else "Give the NAME of a profile."
        raise WrongArguments(f"{problem} Nothing was written.")
    key = profile.api_key or ""
    if key.startswith(KEYRING_REFERENCE):
        forget_secret(key.removeprefix(KEYRING_REFERENCE))
    if not key:
        return told(f"The profile {name!r} has no stored key.")
    remove_value(path, ["providers", name, "apiKey"])
    variable = key.removeprefix(ENV_REFERENCE) if key.startswith(ENV_REFERENCE) else ""
    still_set = f"\nIf your shell sets {variable}, it is still set there." if variable else ""
    return told(f"The key of {name!r} was removed.{still_set}")


FAMILY: Final = Family(
    name="logout",
    about="Remove the API key of a provider profile. The profile is kept.",
    main=ProgramVerb("logout", "", LoggedOut, log_out),
)
