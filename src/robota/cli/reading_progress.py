"""How far something is that reads a long file, on one line of the terminal."""

import sys
from typing import Final

SHORT: Final = 16 * 1024 * 1024
MEGABYTE: Final = 1_000_000


class ReadingProgress:
    """Tells how far it is. Nothing is told of a short file, nor where standard error is no terminal."""

    def __init__(self, what: str, size: int) -> None:
        self._what = what
        self._size = size
        self._is_told = size > SHORT and sys.stderr.isatty()
        self._told = ""

    def __call__(self, position: int) -> None:
        text = f"{self._what}: {position // MEGABYTE:,} of {self._size // MEGABYTE:,} MB (Ctrl-C stops it)"
        if self._is_told and text != self._told:
            self._told = text
            sys.stderr.write(f"\r{text}")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave nothing of it on the screen."""
        if self._told:
            sys.stderr.write("\r" + " " * len(self._told) + "\r")
            sys.stderr.flush()
            self._told = ""
