"""What the bodies of requests share in all wire formats: each piece is encoded once however often it is sent."""

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
# So many turns become one piece; at least as many of the newest stay single, because some formats mark those.
SETTLED_TURNS: Final = 64
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


class EncodedTurns(msgspec.Struct, frozen=True):
    """A conversation, encoded: old turns in large pieces (`settled`), and a fragment for each of the `newest`."""

    settled: list[bytes]
    newest: list[bytes]

    def in_body(self, head: bytes) -> bytes:
        """The body of a request. Its head has opened the list of turns, perhaps with something before the first."""
        first = b"" if head.endswith(b"[") else b","
        pieces = [*self.settled, *filter(None, self.newest)] or [b""]
        # Before the join: after it, the whole body would be copied once more.
        pieces[0] = head + (first if pieces[0] else b"") + pieces[0]
        pieces[-1] += b"]}"
        return b",".join(pieces)


class TurnFragments:
    """Encodes each turn once, and joins old ones to pieces of many.

    Turns are immutable, and the same objects come back in the next request, so identity tells what was encoded. To put
    a body together from thousands of small fragments takes longer than to copy it, so it is made of few large ones.
    """

    def __init__(self, encode: EncodeTurn) -> None:
        self._encode = encode
        self._turns: tuple[Turn, ...] = ()
        self._settled: list[bytes] = []
        self._newest: list[bytes] = []

    def of(self, turns: tuple[Turn, ...]) -> EncodedTurns:
        """The turns, encoded; from the first on that is new, or from shortly before it, they are encoded anew."""
        known = len(self._turns)
        # Nearly always all are known, and then one comparison of tuples, which looks at identity first, is enough.
        if turns[:known] != self._turns:
            known = self._forget(sum(1 for _ in takewhile(bool, map(is_, self._turns, turns))))
        for place in range(known, len(turns)):
            self._newest.append(self._encode(turns[place], turns[place - 1] if place else None))
        while len(self._newest) >= 2 * SETTLED_TURNS:
            self._settled.append(b",".join(filter(None, self._newest[:SETTLED_TURNS])))
            del self._newest[:SETTLED_TURNS]
        self._turns = turns
        return EncodedTurns(list(filter(None, self._settled)), self._newest.copy())

    def __len__(self) -> int:
        return len(self._turns)

    def _forget(self, known: int) -> int:
        """Drop what comes after so many turns. Returns how many are left: of a large piece all turns are dropped."""
        settled = min(len(self._settled), known // SETTLED_TURNS)
        if settled < len(self._settled):
            del self._settled[settled:]
            self._newest.clear()
            return settled * SETTLED_TURNS
        del self._newest[known - settled * SETTLED_TURNS :]
        return known


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
