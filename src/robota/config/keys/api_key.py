"""Where the key of a profile comes from: the settings, the environment, or the keyring of the system."""

from collections.abc import Mapping

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.secrets.named_values import ENV_REFERENCE, KEYRING_REFERENCE


def resolve_key(profile: Profile, env: Mapping[str, str]) -> str | None:
    """The API key; None if the profile has none. An unresolvable reference fails here, before any request."""
    written = profile.api_key
    if not written:
        return None
    source = f"The apiKey of provider profile {profile.name!r}"
    key = written
    if written.startswith(ENV_REFERENCE):
        source, key = _from_environment(written.removeprefix(ENV_REFERENCE), profile, env)
    elif written.startswith(KEYRING_REFERENCE):
        source, key = _from_keyring(written.removeprefix(KEYRING_REFERENCE), profile)
    key = key.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"{source} contains a character that no API key has. Nothing was sent. Set it again.")
    return key


def _from_environment(variable: str, profile: Profile, env: Mapping[str, str]) -> tuple[str, str]:
    source = f"The environment variable {variable}, named by provider profile {profile.name!r},"
    key = env.get(variable, "")
    if not key.strip():
        raise ConfigError(f"{source} is not set. Nothing was sent. Set it: export {variable}=…")
    return source, key


def _from_keyring(name: str, profile: Profile) -> tuple[str, str]:
    from robota.config.keys.keyring_store import read_secret

    source = f"The keyring entry {name!r}, named by provider profile {profile.name!r},"
    key = read_secret(name) or ""
    if not key.strip():
        raise ConfigError(f"{source} does not exist. Nothing was sent. Set it up again: robota --configure")
    return source, key
