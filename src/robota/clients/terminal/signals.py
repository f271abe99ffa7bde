"""Handle signals while a task runs: Ctrl+C, TERM, and hang-up of the terminal."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def signals_to(handler: Callable[[signal.Signals], None], *more: signal.Signals) -> Iterator[None]:
    """Call `handler` on the event loop for each signal that arrives within this context."""
    loop = asyncio.get_running_loop()
    caught: list[signal.Signals] = []
    # A loop outside the main thread gets no signals; the main thread handles them.
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        for number in (*SIGNALS, *more):
            if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue  # nohup: ignore the hang-up
            loop.add_signal_handler(number, handler, number)
            caught.append(number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
