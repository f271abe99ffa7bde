"""`robota logout`: delete the key of a provider profile and keep the profile."""

import os
from collections.abc import Sequence

from robota.cli.command_parser import CommandParser
from robota.cli.configure.provider import DONE, refuse_config, refuse_usage
from robota.config.errors import ConfigError
from robota.config.keys.keyring_store import forget_secret
from robota.config.paths import settings_path
from robota.config.settings.writer import read_raw, remove_value, stored_profile
from robota.secrets.named_values import ENV_REFERENCE, KEYRING_REFERENCE


def main(argv: Sequence[str]) -> int:
    """Run `robota logout …`."""
    name = parser().parse_args(argv).provider
    try:
        path = settings_path(os.environ)
        name = name or str(read_raw(path).get("currentProvider") or "")
        profile = stored_profile(path, name)
        if profile is None:
            return refuse_usage(f"There is no provider profile {name!r}." if name else "Give the NAME of a profile.")
        key = profile.api_key or ""
        if key.startswith(KEYRING_REFERENCE):
            forget_secret(key.removeprefix(KEYRING_REFERENCE))
        if key:
            remove_value(path, ["providers", name, "apiKey"])
    except ConfigError as error:
        return refuse_config(error)
    print(f"The key of {name!r} was removed." if key else f"The profile {name!r} has no stored key.")
    if key.startswith(ENV_REFERENCE):
        print(f"If your shell sets {key.removeprefix(ENV_REFERENCE)}, it is still set there.")
    return DONE


def parser() -> CommandParser:
    """The argument parser of `robota logout`."""
    parser = CommandParser(
        prog="robota logout", description="Remove the API key of a provider profile. The profile is kept."
    )
    parser.add_argument("provider", nargs="?", metavar="PROVIDER", help="the profile (default: the current one)")
    return parser
