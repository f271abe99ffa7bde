"""The input prompt: shows the prompt sign and returns what the user types."""

from collections.abc import Callable
from typing import Final

from robota.clients.plain.console import Console
from robota.clients.plain.line_editor import LineEditor
from robota.clients.terminal.guard import StartGuard
from robota.clients.terminal.line import DIM
from robota.clients.terminal.line_writer import LineWriter

FORGOTTEN_SHOWN: Final = 200


class Prompter:
    """Shows the prompt sign once for each input, and again if something was printed over it."""

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
        self.draft = ""  # the initial text of the next input, which the user can edit

    async def text(self) -> str | None:
        """The next text, including what was typed before; None at the end of the input."""
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
        """The next text without what was typed before: that cannot answer the question."""
        forgotten = " ".join(self.console.forget().split())
        if forgotten:
            shown = forgotten[:FORGOTTEN_SHOWN]
            self._lines.prose(f"(ignored, because it was typed before the question: {shown})", DIM)
        return await self.text()

    def show_again(self) -> None:
        """Show the sign again if something was printed after it."""
        if self._editor.has_sign and not self._lines.is_open:
            self._editor.show()

    def interrupt(self) -> None:
        """Ctrl+C: discard the typed text, and show that on the screen."""
        self.console.forget()
        self._lines.words("^C\n")
