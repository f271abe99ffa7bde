"""What restores the terminal if this process is killed."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class TerminalGuard(Protocol):
    """Is told when the terminal is in use, so that it knows what to restore."""

    def taken(self, *, is_alternate: bool) -> None: ...

    def released(self) -> None: ...

    def close(self) -> None: ...


# Starts the guard, given the modes that the terminal had before they were changed.
StartGuard = Callable[[Sequence[Any]], TerminalGuard]
