"""The interface of the guard that restores the terminal if this process is killed."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class TerminalGuard(Protocol):
    """Must be notified when the terminal is in use, so that it knows what to restore."""

    def taken(self, *, is_alternate: bool) -> None: ...

    def released(self) -> None: ...

    def close(self) -> None: ...


# Starts the guard, given the original modes of the terminal.
StartGuard = Callable[[Sequence[Any]], TerminalGuard]
