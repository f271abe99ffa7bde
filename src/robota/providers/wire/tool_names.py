"""Names of tools that every server takes back, also those a model made up."""

import re
from typing import Final

NAME_LENGTH: Final = 64
FORBIDDEN: Final = re.compile(r"[^a-zA-Z0-9_-]")


def safe_name(name: str) -> str:
    """A server refuses a whole conversation for one odd name in it, so what a model invented is made plain."""
    plain = FORBIDDEN.sub("_", name)[:NAME_LENGTH]
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"[:NAME_LENGTH]
