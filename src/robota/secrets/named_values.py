"""Secrets known by the name they stand under: environment variables and settings."""

import re
from collections.abc import Mapping
from typing import Any, Final

# A setting may name the place of a key instead of the key itself.
ENV_REFERENCE: Final = "$ENV:"
KEYRING_REFERENCE: Final = "$KEYRING:"
VARIABLE_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"

SECRET_VARIABLE: Final = r"(?i)api_?key|token|secret|passw|credential|private_?key|_pat$"
HARMLESS_VARIABLE: Final = r"(?i)_(?:file|path|dir|name|id|url|host|user|type|ttl|env)$"

MASK: Final = "***"
SECRET_SETTING: Final = r"(?i)api.?key|token|secret|passw|authorization|credential"
HARMLESS_SETTING: Final = r"(?i)tokens|keys?_?(?:env|name)$"
PASSWORD_IN_URL: Final = r"(?<=://)[^/@\s]+@"


def secret_variables(environment: Mapping[str, str]) -> list[str]:
    """The values of environment variables whose names say that they are secret."""
    return [
        value
        for name, value in environment.items()
        if re.search(SECRET_VARIABLE, name)
        and not re.search(HARMLESS_VARIABLE, name)
        and not value.startswith(("/", "$"))
    ]


def mask_settings(value: Any, key: str = "") -> Any:
    """The same settings, with every string masked that stands under a secret name and is no reference."""
    if isinstance(value, dict):
        return {name: mask_settings(inner, name) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [mask_settings(inner, key) for inner in value]
    if not isinstance(value, str):
        return value
    if re.search(SECRET_SETTING, key) and not re.search(HARMLESS_SETTING, key) and not is_reference(value):
        return MASK
    return re.sub(PASSWORD_IN_URL, f"{MASK}@", value)


def is_reference(key: str) -> bool:
    """Whether this names the place of a key (`$ENV:…`, `$KEYRING:…`) and is not the key itself."""
    return key.startswith((ENV_REFERENCE, KEYRING_REFERENCE))
