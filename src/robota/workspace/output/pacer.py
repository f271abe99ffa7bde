"""Output is shown in paced pieces, however it comes."""

import asyncio
from collections.abc import Callable

PIECE_CHARACTERS = 16 * 1024
PIECE_PAUSE_S = 0.03


class OutputPacer:
    """Joins small pieces and thins out a flood, so that whoever watches is told often but not constantly."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._waiting: list[str] = []
        self._size = 0
        self._left_out = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        if not text:
            return
        room = PIECE_CHARACTERS - self._size
        self._waiting.append(text[:room])
        self._size += len(self._waiting[-1])
        self._left_out += max(0, len(text) - room)
        if self._timer is None:
            self._flush()
            self._timer = asyncio.get_running_loop().call_later(PIECE_PAUSE_S, self._pause_over)

    def finish(self) -> None:
        """Tell what is left and stop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._flush()

    def _pause_over(self) -> None:
        self._timer = None
        if self._waiting:
            self._flush()
            self._timer = asyncio.get_running_loop().call_later(PIECE_PAUSE_S, self._pause_over)

    def _flush(self) -> None:
        piece = "".join(self._waiting)
        if self._left_out:
            piece += f"\n[… {self._left_out:,} characters not shown …]\n"
        self._waiting, self._size, self._left_out = [], 0, 0
        if piece:
            self._tell(piece)
