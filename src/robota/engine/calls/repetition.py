"""Notices a model that makes the same call over and over."""

import json
from typing import Any


class RepetitionGuard:
    """Lets `limit` identical calls in a row pass and stops the next one; then counting starts anew."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._last = ""
        self._count = 0

    def blocks(self, name: str, arguments: dict[str, Any]) -> bool:
        if self._limit <= 0:
            return False
        key = f"{name}:{json.dumps(arguments, sort_keys=True, default=str)}"
        self._count = self._count + 1 if key == self._last else 1
        self._last = key
        if self._count <= self._limit:
            return False
        self._last, self._count = "", 0
        return True
