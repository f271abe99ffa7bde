"""Types shared by clients that write text: lines with colours, the output stream, and a table of event handlers."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

# SGR codes of a terminal.
BOLD: Final = "1"
DIM: Final = "2"
RED: Final = "31"
GREEN: Final = "32"
INSET: Final = "    "

# The handlers of a client by type of event.
Handlers = Mapping[type, Callable[[Any], None]]


class Line(msgspec.Struct, frozen=True):
    """One line of output; without a colour it has the terminal's default.

    With `indent`, it is prose, which is wrapped between words; `indent` is the prefix of its further lines.
    """

    text: str
    colour: str | None = None
    indent: str | None = None


class TextOutput(Protocol):
    """The part of `sys.stderr` that we use."""

    def write(self, text: str, /) -> int: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...
