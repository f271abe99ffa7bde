"""Shared by the request bodies of all wire formats: each piece is encoded once, however often it is sent."""

import json
import re
from collections.abc import Callable
from itertools import takewhile
from operator import is_
from typing import Any, Final

import msgspec

from robota.protocol.conversation import Turn
from robota.providers.chunks import ModelRequest

NAME_LENGTH: Final = 64
# This many turns are joined into one piece. At least as many of the newest stay separate, because some formats mark
# them.
SETTLED_TURNS: Final = 64
FORBIDDEN_IN_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
# A turn and the one before it, which some formats need to name what a result belongs to.
EncodeTurn = Callable[[Turn, Turn | None], bytes]


class RequestHead:
    """Encodes everything before the turns (model, system prompt, tools), and again only if it has changed."""

    def __init__(self, encode: Callable[[ModelRequest], bytes]) -> None:
        self._encode = encode
        self._key: tuple[Any, ...] | None = None
        self._head = b""

    def of(self, request: ModelRequest) -> bytes:
        """The encoded head of this request."""
        key = (request.model, request.system, request.tools, request.max_output_tokens, request.cache_key)
        if key != self._key:
            self._key, self._head = key, self._encode(request)
        return self._head


class EncodedTurns(msgspec.Struct, frozen=True):
    """A conversation, encoded: old turns in large pieces (`settled`), and a fragment for each of the `newest`."""

    settled: list[bytes]
    newest: list[bytes]

    def in_body(self, head: bytes) -> bytes:
        """The body of a request. Its head has opened the list of turns, perhaps with something before the first."""
        first = b"" if head.endswith(b"[") else b","
        pieces = [*self.settled, *filter(None, self.newest)] or [b""]
        # Before the join, because afterwards it would copy the whole body again.
        pieces[0] = head + (first if pieces[0] else b"") + pieces[0]
        pieces[-1] += b"]}"
        return b",".join(pieces)


class TurnFragments:
    """Encodes each turn once, and joins old turns into large pieces.

    Turns are immutable, and the next request has the same objects, so encoded turns are recognized by identity. Joining
    thousands of small fragments takes longer than copying the body, so it is made of a few large pieces.
    """

    def __init__(self, encode: EncodeTurn) -> None:
        self._encode = encode
        self._turns: tuple[Turn, ...] = ()
        self._settled: list[bytes] = []
        self._newest: list[bytes] = []

    def of(self, turns: tuple[Turn, ...]) -> EncodedTurns:
        """The encoded turns. Only turns from the first new one on, or from shortly before it, are encoded again."""
        reusable = len(self._turns)
        # Usually all are known, and a single comparison of tuples, which checks identity first, is enough.
        if turns[:reusable] != self._turns:
            reusable = self._forget(sum(1 for _ in takewhile(bool, map(is_, self._turns, turns))))
        for index in range(reusable, len(turns)):
            self._newest.append(self._encode(turns[index], turns[index - 1] if index else None))
        while len(self._newest) >= 2 * SETTLED_TURNS:
            self._settled.append(b",".join(filter(None, self._newest[:SETTLED_TURNS])))
            del self._newest[:SETTLED_TURNS]
        self._turns = turns
        return EncodedTurns(list(filter(None, self._settled)), self._newest.copy())

    def __len__(self) -> int:
        return len(self._turns)

    def _forget(self, reusable: int) -> int:
        """Drop all but the first `reusable` turns. Returns how many are left: a settled piece is dropped as a whole."""
        settled = min(len(self._settled), reusable // SETTLED_TURNS)
        if settled < len(self._settled):
            del self._settled[settled:]
            self._newest.clear()
            return settled * SETTLED_TURNS
        del self._newest[reusable - settled * SETTLED_TURNS :]
        return reusable


def without(reserved: frozenset[str], extra: dict[str, Any] | None) -> dict[str, Any]:
    """Additional fields of a body from a profile, without the reserved ones."""
    return {key: value for key, value in (extra or {}).items() if key not in reserved}


def encode_json(value: Any) -> bytes:
    """The JSON of a value; characters that UTF-8 cannot encode are replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # A lone surrogate, from a file name or a broken tool: JSON cannot encode it.
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def safe_name(name: str) -> str:
    """The name of a tool with only characters that every server accepts.

    A server refuses the whole conversation for one odd name in it, also one that a model made up.
    """
    plain = FORBIDDEN_IN_NAME.sub("_", name)[:NAME_LENGTH]
    return plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"[:NAME_LENGTH]
