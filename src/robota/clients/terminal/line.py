"""What clients that write text share: lines and their colours, the stream they go to, and a table of event handlers."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

# SGR codes of a terminal.
BOLD: Final = "1"
DIM: Final = "2"
RED: Final = "31"
GREEN: Final = "32"
INSET: Final = "    "

# How a client listens: for each type of event what to do with it.
Handlers = Mapping[type, Callable[[Any], None]]


class Line(msgspec.Struct, frozen=True):
    """One line for a person; without a colour it looks like the rest of the terminal.

    `indent` is for a sentence, which is broken between words: what stands before its further lines.
    """

    text: str
    colour: str | None = None
    indent: str | None = None


class TextOutput(Protocol):
    """What `sys.stderr` offers and we use."""

    def write(self, text: str, /) -> int: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...
