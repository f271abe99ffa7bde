"""Switch the modes of a terminal for reading single keys, and restore them."""

import contextlib
import termios
from typing import Any, Final

INPUT_MODES: Final = 0
LOCAL_MODES: Final = 3
SPECIAL_CHARACTERS: Final = 6


class KeyModes:
    """Turns the kernel's line editing and echo off and on. Ctrl+C, Ctrl+Z and the like stay signals.

    The kernel's line editing drops input beyond 4,095 bytes, erases half a character unless UTF-8 mode is set, and
    turns the two bytes of a pasted line end into two lines.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.before: list[Any] | None = None

    def enter(self) -> None:
        """Deliver every key at once."""
        with contextlib.suppress(termios.error):
            usual = termios.tcgetattr(self._descriptor)
            if usual[LOCAL_MODES] & termios.ICANON:
                self.before = usual
            modes = [*usual]
            modes[INPUT_MODES] &= ~termios.ICRNL
            modes[LOCAL_MODES] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
            modes[SPECIAL_CHARACTERS] = [*usual[SPECIAL_CHARACTERS]]
            modes[SPECIAL_CHARACTERS][termios.VMIN], modes[SPECIAL_CHARACTERS][termios.VTIME] = 1, 0
            termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)

    def leave(self) -> None:
        """Restore the original modes."""
        if self.before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSANOW, self.before)
