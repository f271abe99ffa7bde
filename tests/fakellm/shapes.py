"""What passes between the scenario (what is said) and the dialects (how it is said)."""

import re
from typing import Any, Final, Protocol

import msgspec

Json = dict[str, Any]

# A fixed "now": the same requests give the same bytes.
CREATED: Final = 1_700_000_000
HELLO: Final = "Hello from the fake model."


class Tool(msgspec.Struct, frozen=True):
    """A tool the client offers; `kind` is function, custom or local_shell."""

    name: str
    schema: Json
    kind: str = "function"


class Call(msgspec.Struct, frozen=True):
    """A tool call; `args` is JSON text as it goes on the wire and may be broken on purpose."""

    name: str
    args: str
    kind: str = "function"


class Reply(msgspec.Struct, frozen=True):
    """What the model says in one response; `fault` is what goes wrong on the wire."""

    label: str
    chunks: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    fault: str = ""
    status: int = 200

    @property
    def text(self) -> str:
        return "".join(self.chunks)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a dialect reads out of a request's body."""

    tools: tuple[Tool, ...]
    stream: bool
    n_messages: int
    json_schema: Json | None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request, in no dialect."""

    body: Json
    model: str
    size: int
    asked: Asked

    @property
    def n_messages(self) -> int:
        return self.asked.n_messages


class Dialect(Protocol):
    """A wire format."""

    name: str

    def parse(self, body: Json) -> Asked: ...

    def events(self, reply: Reply, request: Request) -> list[bytes]:
        """The frames of a stream."""
        ...

    def whole(self, reply: Reply, request: Request) -> Json:
        """The answer without a stream."""
        ...

    def error(self, status: int) -> Json: ...


def sse(data: Any, event: str = "") -> bytes:
    head = f"event: {event}\n" if event else ""
    return head.encode() + b"data: " + msgspec.json.encode(data) + b"\n\n"


def pieces(text: str, size: int = 16) -> tuple[str, ...]:
    return tuple(text[start : start + size] for start in range(0, len(text), size)) or ("",)


def tokens(request: Request, reply: Reply) -> tuple[int, int]:
    """A plausible usage: a quarter of the bytes in, one token a chunk out."""
    return request.size // 4, len(reply.chunks) + sum(len(call.args) // 4 + 8 for call in reply.calls)


def plain_name(name: str) -> str:
    """mcp__fs__read_file, ReadFile and read-file all become readfile."""
    return re.sub(r"[-_]", "", name.split("__")[-1].split(".")[-1]).lower()
