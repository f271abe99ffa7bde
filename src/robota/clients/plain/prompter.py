"""The place where the person types: a sign that they can, and what they typed."""

from collections.abc import Callable
from typing import Final

from robota.clients.plain.console import Console
from robota.clients.plain.line_editor import LineEditor
from robota.clients.terminal.guard import StartGuard
from robota.clients.terminal.line import DIM
from robota.clients.terminal.line_writer import LineWriter

FORGOTTEN_SHOWN: Final = 200


class Prompter:
    """Shows the sign once for each thing that is to be typed, and again where something was printed over it."""

    def __init__(
        self,
        descriptor: int,
        lines: LineWriter,
        on_idle_text: Callable[[str | None], None],
        start_guard: StartGuard | None = None,
    ) -> None:
        self._lines = lines
        self._editor = LineEditor(lines)
        self.console = Console(descriptor, self._editor, on_idle_text, start_guard)
        self.draft = ""  # stands there when something is next to be typed, and can be changed

    async def text(self) -> str | None:
        """What is typed next, maybe begun already; None at the end of the input."""
        self._editor.has_sign = True
        self._editor.text = "\n".join(filter(None, (self.draft, self._editor.text)))
        self.draft = ""
        if not self.console.is_entered:
            self._editor.show()
        try:
            return await self.console.typed()
        finally:
            self._editor.has_sign = False

    async def answer(self) -> str | None:
        """What is typed from now on: what was typed before a question is no answer to it."""
        forgotten = " ".join(self.console.forget().split())
        if forgotten:
            shown = forgotten[:FORGOTTEN_SHOWN]
            self._lines.prose(f"(ignored, because it was typed before the question: {shown})", DIM)
        return await self.text()

    def show_again(self) -> None:
        """Something may have been printed beneath the sign."""
        if self._editor.has_sign and not self._lines.is_open:
            self._editor.show()

    def interrupt(self) -> None:
        """Ctrl+C: what was typed so far is given up, as the mark on the screen says."""
        self.console.forget()
        self._lines.words("^C\n")
