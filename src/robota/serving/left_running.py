"""The result of a client whose session continues without it."""

from pathlib import Path

import msgspec


class LeftRunning(msgspec.Struct, frozen=True):
    """The client has left, and the session continues; with `socket`, clients reach it there, too."""

    socket: Path | None = None
