"""SIGINT and SIGTERM while a task runs."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def signals_to(handler: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Call `handler` in the running loop for each signal that comes inside this context."""
    loop = asyncio.get_running_loop()
    caught: list[signal.Signals] = []
    # A loop outside the main thread gets no signals; whoever owns that thread then handles them.
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        for number in SIGNALS:
            loop.add_signal_handler(number, handler, number)
            caught.append(number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
