"""Text that a terminal may be given, whoever wrote it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

# How a client listens: for each type of event what to do with it.
Handlers = Mapping[type, Callable[[Any], None]]


class TextOutput(Protocol):
    """What `sys.stderr` offers and we use."""

    def write(self, text: str, /) -> int: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


def without_surrogates(text: str) -> str:
    """The same text if it is proper Unicode; else pairs of surrogates are joined and lone ones replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def without_controls(text: str) -> str:
    """Text that cannot move the cursor, set a title, or hide or turn around what follows."""
    return text.translate(CONTROLS)


TURNING: Final = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))  # make what follows run the other way
CONTROLS: Final = {code: None for code in (*range(0x20), *range(0x7F, 0xA0), *TURNING) if chr(code) not in "\n\t"}
