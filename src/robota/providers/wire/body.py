"""What the bodies of requests share in all wire formats: each piece is encoded once however often it is sent."""

import json
import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import is_
from typing import Any, Final

import msgspec

from robota.protocol.conversation import Turn
from robota.providers.chunks import ModelRequest

NAME_LENGTH: Final = 64
FORBIDDEN_IN_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
# A turn and the one before it, which some formats need to name what a result belongs to.
EncodeTurn = Callable[[Turn, Turn | None], bytes]


class RequestHead:
    """Encodes everything before the turns (model, system prompt, tools), again only when it has changed."""

    def __init__(self, encode: Callable[[ModelRequest], bytes]) -> None:
        self._encode = encode
        self._key: tuple[Any, ...] | None = None
        self._head = b""

    def of(self, request: ModelRequest) -> bytes:
        """The encoded head of this request."""
        key = (request.model, request.system, request.tools, request.max_output_tokens)
        if key != self._key:
            self._key, self._head = key, self._encode(request)
        return self._head


class TurnFragments:
    """Encodes each turn once.

    Turns are immutable, and the same objects come back in the next request, so identity tells what was encoded.
    """

    def __init__(self, encode: EncodeTurn) -> None:
        self._encode = encode
        self._turns: list[Turn] = []
        self._encoded: list[bytes] = []

    def of(self, turns: Sequence[Turn]) -> list[bytes]:
        """One fragment a turn; empty where nothing of it is sent. From the first turn that is new, all are encoded."""
        known = len(self._turns)
        # Nearly always all are known, and then one comparison of lists, which looks at identity first, is all it costs.
        if list(turns[:known]) != self._turns:
            known = sum(1 for _ in takewhile(bool, map(is_, self._turns, turns)))
        del self._turns[known:], self._encoded[known:]
        for turn in turns[known:]:
            self._encoded.append(self._encode(turn, self._turns[-1] if self._turns else None))
            self._turns.append(turn)
        return self._encoded.copy()

    def __len__(self) -> int:
        return len(self._turns)


def without(reserved: frozenset[str], extra: dict[str, Any] | None) -> dict[str, Any]:
    """Further fields of a body, as a profile gives them, but none that we rely on."""
    return {key: value for key, value in (extra or {}).items() if key not in reserved}


def encode_json(value: Any) -> bytes:
    """The JSON of a value; what UTF-8 cannot carry is replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # Half a surrogate pair, from a file name or a broken tool: no JSON can carry it.
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def safe_name(name: str) -> str:
    """The name of a tool with only characters that every server accepts.

    A server refuses the whole conversation for one odd name in it, also one that a model made up.
    """
    plain = FORBIDDEN_IN_NAME.sub("_", name)[:NAME_LENGTH]
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"[:NAME_LENGTH]
