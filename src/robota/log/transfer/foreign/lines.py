"""Reads foreign JSON lines; unreadable lines are counted and skipped."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

# Images make long lines, but no line of a transcript is longer than this.
MAX_LINE_BYTES: Final = 64 * 1024 * 1024


class ForeignLines:
    """Iterates over the objects; `unreadable` counts the other lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.unreadable = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self._path.open("rb") as stream:
            while line := stream.readline(MAX_LINE_BYTES):
                if not line.endswith(b"\n") and len(line) == MAX_LINE_BYTES:
                    self.unreadable += 1
                    while (rest := stream.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                        pass
                    continue
                if line.isspace():
                    continue
                try:
                    value = msgspec.json.decode(line, strict=False)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    value = None
                if isinstance(value, dict):
                    yield value
                else:
                    self.unreadable += 1


def text_in(value: dict[str, Any], *names: str) -> str:
    """The text under a chain of names; empty if there is none."""
    inner: Any = value
    for name in names:
        inner = inner.get(name) if isinstance(inner, dict) else None
    return inner if isinstance(inner, str) else ""


def object_in(value: dict[str, Any], name: str) -> dict[str, Any]:
    """The object under a name; empty if there is none."""
    inner = value.get(name)
    return inner if isinstance(inner, dict) else {}


def time_ms(value: dict[str, Any]) -> int:
    """The time of a line in milliseconds; 0 if it has none."""
    try:
        return max(0, int(datetime.fromisoformat(text_in(value, "timestamp")).timestamp() * 1000))
    except (ValueError, OverflowError, OSError):
        return 0
