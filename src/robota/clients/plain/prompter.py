"""The place where the person types: a sign that they can, and what they typed."""

from collections.abc import Callable
from typing import Final

from robota.clients.plain.console import LONGEST_LINE_BYTES, Console, was_cut
from robota.clients.terminal.line import DIM, RED
from robota.clients.terminal.line_writer import LineWriter

SIGN: Final = "> "
FORGOTTEN_SHOWN: Final = 200
CUT: Final = (
    f"! A terminal passes on only the first {LONGEST_LINE_BYTES:,} bytes of a line, so the end is missing and nothing "
    "was sent. Put the text into a file and name the file, or break it into lines."
)


class Prompter:
    """Shows the sign once for each thing that is to be typed, and again where something was printed over it."""

    def __init__(self, descriptor: int, lines: LineWriter, on_idle_text: Callable[[str | None], None]) -> None:
        self._lines = lines
        self._on_idle_text = on_idle_text
        self._is_waiting = False
        self.console = Console(descriptor, self._idle)

    async def text(self) -> str | None:
        """What is typed next, maybe begun already; None at the end of the input."""
        while True:
            typed = await self._typed()
            if typed is None or not was_cut(typed):
                return typed
            self._lines.prose(CUT, RED, indent="  ")

    async def answer(self) -> str | None:
        """What is typed from now on: what was typed before a question is no answer to it."""
        forgotten = " ".join(self.console.forget().split())
        if forgotten:
            self._lines.prose(f"(typed before the question, so not read: {forgotten[:FORGOTTEN_SHOWN]})", DIM)
        return await self.text()

    def show_again(self) -> None:
        """Something may have been printed beneath the sign."""
        if self._is_waiting and not self._lines.is_open:
            self._lines.words(SIGN)

    async def _typed(self) -> str | None:
        self._is_waiting = True
        self.show_again()
        try:
            typed = await self.console.typed()
        finally:
            self._is_waiting = False
        self._lines.is_open = typed is None  # Enter has ended the line
        return typed

    def _idle(self, text: str | None) -> None:
        if text is not None and was_cut(text):
            self._lines.prose(CUT, RED, indent="  ")
        else:
            self._on_idle_text(text)
