"""Values as JSON on stdout, laid out for people to read."""

from typing import Any

import msgspec


def print_json(value: Any) -> None:
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
