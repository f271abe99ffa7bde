"""How much of the way out the commands of a session can use."""

import msgspec


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """`connections` are those of all commands together: each takes descriptors that Robota needs itself."""

    connections: int = 64
    head_bytes: int = 64 * 1024
    head_s: float = 15.0
    connect_s: float = 30.0
    idle_s: float = 600.0
