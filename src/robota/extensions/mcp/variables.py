"""`${VAR}` and `${VAR:-default}` in the entry of a server."""

import re
from collections.abc import Mapping
from typing import Final

VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def expanded(text: str, env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The text with its variables filled in, once, and the names of those that are not set and stay as they are."""
    unset: list[str] = []

    def value_of(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        if env.get(name):
            return env[name]
        if default is not None:
            return str(default)
        if name in env:
            return ""
        unset.append(name)
        return found[0]

    return VARIABLE.sub(value_of, text), tuple(unset)
