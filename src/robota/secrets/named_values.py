"""Secrets recognized by name: environment variables and settings."""

import re
from collections.abc import Mapping
from typing import Any, Final

# A setting may refer to where a key is stored instead of containing the key.
ENV_REFERENCE: Final = "$ENV:"
KEYRING_REFERENCE: Final = "$KEYRING:"
VARIABLE_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"

# A word of a name, as in MYSQL_PWD, NPM_CONFIG__AUTH or npm_config_//host/:_authToken.
WORD: Final = re.compile(r"[A-Za-z0-9]+")
SECRET_WORDS: Final = frozenset(
    ("key", "keys", "pwd", "auth", "dsn", "pat", "cred", "creds", "cookie", "jwt", "bearer", "pass", "passphrase")
)
SECRET_ENDS: Final = (
    *("token", "apikey", "authkey", "accesskey"),
    *("secretkey", "privatekey", "signingkey", "passkey"),
)
WITHIN_SECRET_WORDS: Final = ("secret", "password", "passwd", "credential")
# Ordinary names that would count as secret by one of their words.
HARMLESS_NAMES: Final = frozenset({"pwd", "oldpwd"})
HARMLESS_VARIABLE: Final = r"(?i)_(?:file|path|dir|name|id|url|host|user|type|ttl|env)$"

MASK: Final = "***"
SECRET_SETTING: Final = r"(?i)api.?key|token|secret|passw|authorization|credential"
HARMLESS_SETTING: Final = r"(?i)tokens|keys?_?(?:env|name)$"
PASSWORD_IN_URL: Final = r"(?<=://)[^/@\s]+@"


def names_secret(name: str) -> bool:
    """Whether the name of a variable suggests that it holds a credential."""
    lowered = name.lower()
    return lowered not in HARMLESS_NAMES and any(_is_secret(word) for word in WORD.findall(lowered))


def _is_secret(word: str) -> bool:
    return word in SECRET_WORDS or word.endswith(SECRET_ENDS) or any(each in word for each in WITHIN_SECRET_WORDS)


def secret_variables(environment: Mapping[str, str]) -> list[str]:
    """The values of environment variables whose names suggest secrets."""
    return [
        value
        for name, value in environment.items()
        if names_secret(name) and not re.search(HARMLESS_VARIABLE, name) and not value.startswith(("/", "$"))
    ]


def mask_settings(value: Any, key: str = "") -> Any:
    """A copy of the settings with strings under secret names masked, except references to stored keys."""
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
    """Whether this refers to a stored key (`$ENV:…`, `$KEYRING:…`) rather than being the key."""
    return key.startswith((ENV_REFERENCE, KEYRING_REFERENCE))


def referenced_variables(value: Any) -> set[str]:
    """The environment variables that settings refer to for keys, at any depth."""
    if isinstance(value, str):
        return {value.removeprefix(ENV_REFERENCE)} if value.startswith(ENV_REFERENCE) else set()
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return {name for each in inner for name in referenced_variables(each)}
