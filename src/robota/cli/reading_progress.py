"""Shows the progress of reading long files, on one line of the terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

AFTER_S: Final = 1.0
MEGABYTE: Final = 1_000_000


class ReadingProgress:
    """Shows progress once reading has taken longer than `after_s`.

    Nothing is shown if standard error is not a terminal. `size` is the total size, which can also be set later.
    """

    def __init__(
        self, what: str, size: int, clock: Callable[[], float] = time.monotonic, *, after_s: float = AFTER_S
    ) -> None:
        self._what = what
        self._size = size
        self._clock = clock
        self._from = clock() + after_s
        self._is_told = sys.stderr.isatty()
        self._told = ""

    def __call__(self, position: int, size: int | None = None) -> None:
        self._size = self._size if size is None else size
        if position >= self._size:
            self.end()
            return
        if not self._is_told or (not self._told and self._clock() < self._from):
            return
        text = f"{self._what}: {position // MEGABYTE:,} of {self._size // MEGABYTE:,} MB (Ctrl+C to stop)"
        if text != self._told:
            self._told = text
            _draw(f"\r{text}")

    def end(self) -> None:
        """Leave nothing of it on the screen."""
        if self._told:
            _draw("\r" + " " * len(self._told) + "\r")
            self._told = ""


def _draw(text: str) -> None:
    from robota.cli.guarded_terminal import steered

    print(text, end="", flush=True, file=steered(sys.stderr))


@contextmanager
def reading_progress(what: str, *logs: Path) -> Iterator[ReadingProgress]:
    """Show the progress of reading these files."""
    progress = ReadingProgress(what, sum(log.stat().st_size for log in logs if log.is_file()))
    try:
        yield progress
    finally:
        progress.end()
