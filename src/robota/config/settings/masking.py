"""Settings as they may be shown: without what is secret in them."""

import re
from typing import Any, Final

from robota.config.keys.api_key import is_reference

MASK: Final = "***"
_SECRET_NAME: Final = re.compile(r"api.?key|token|secret|passw|authorization|credential", re.IGNORECASE)
_NOT_SECRET: Final = re.compile(r"tokens|keys?_?(?:env|name)$", re.IGNORECASE)
_ADDRESS_PASSWORD: Final = re.compile(r"(?<=://)[^/@\s]+@")


def masked(value: Any, key: str = "") -> Any:
    """The same value; a string under a name that means a secret is hidden, unless it only says where the secret is."""
    if isinstance(value, dict):
        return {name: masked(inner, name) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked(inner, key) for inner in value]
    if not isinstance(value, str):
        return value
    if _SECRET_NAME.search(key) and not _NOT_SECRET.search(key) and not is_reference(value):
        return MASK
    return _ADDRESS_PASSWORD.sub(f"{MASK}@", value)
