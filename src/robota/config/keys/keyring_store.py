"""API keys in the keyring of the operating system, through the package `keyring` (the extra `robota[keyring]`)."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from robota.config.errors import ConfigError

SERVICE: Final = "robota"
HOW_TO_INSTALL: Final = "pip install 'robota[keyring]'"


def is_available() -> bool:
    """Whether there is a keyring that can store secrets."""
    if find_spec("keyring") is None:
        return False
    return float(getattr(_keyring().get_keyring(), "priority", 0)) > 0


def read_secret(name: str) -> str | None:
    """The secret with this name, or None. Raises `ConfigError` if the keyring cannot be used."""
    secret: str | None = _asked("read", name, lambda: _keyring().get_password(SERVICE, name))
    return secret


def write_secret(name: str, secret: str) -> None:
    """Store a secret. Raises `ConfigError` if the keyring cannot be used."""
    _asked("written", name, lambda: _keyring().set_password(SERVICE, name, secret))


def forget_secret(name: str) -> None:
    """Remove a secret, if it exists. Raises `ConfigError` if the keyring cannot be used."""
    if read_secret(name) is not None:
        _asked("removed", name, lambda: _keyring().delete_password(SERVICE, name))


def _asked(verb: str, name: str, question: Any) -> Any:
    try:
        return question()
    except ConfigError:
        raise
    except Exception as error:  # every keyring backend has its own errors
        raise ConfigError(
            f"The keyring entry {name!r} cannot be {verb}: {error}. Nothing was sent. "
            "Unlock the keyring, or keep the key in an environment variable with --api-key-env."
        ) from error


def _keyring() -> Any:
    try:
        return import_module("keyring")
    except ImportError as error:
        raise ConfigError(f"A key is stored in the system keyring. To read it, install: {HOW_TO_INSTALL}") from error
