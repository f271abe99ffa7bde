"""What the clients that write text share: the stream they write to and the table of events they listen for."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

# How a client listens: for each type of event what to do with it.
Handlers = Mapping[type, Callable[[Any], None]]


class TextOutput(Protocol):
    """What `sys.stderr` offers and we use."""

    def write(self, text: str, /) -> int: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...
