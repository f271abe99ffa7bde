"""Parses and writes names of settings: `permissions.deny`, `models."gpt-4.1".window`."""

import re
from collections.abc import Sequence

from robota.config.errors import ConfigError

KeyPath = tuple[str, ...]

_PART = r'"((?:[^"\\]|\\.)*)"|([^."]+)'


def split_key(text: str) -> KeyPath:
    """The parts of a name. A part that contains a dot is quoted."""
    parts: list[str] = []
    position = 0
    while True:
        part = re.compile(_PART).match(text, position)
        if part is None:
            raise ConfigError(f"{text!r} is not a valid setting name. Write names joined by dots: permissions.deny")
        parts.append(re.sub(r"\\(.)", r"\1", part[1], flags=re.DOTALL) if part[2] is None else part[2])
        position = part.end()
        if position == len(text):
            return tuple(parts)
        if text[position] != ".":
            raise ConfigError(f"{text!r} is not a valid setting name: a dot is missing after {text[:position]!r}.")
        position += 1


def join_key(parts: Sequence[str | int]) -> str:
    """The inverse of `split_key`; numbers are list indices."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + _written(part)
    return text


def _written(part: str) -> str:
    if part and part.isprintable() and not set(part) & set('."'):
        return part
    escaped = part.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
