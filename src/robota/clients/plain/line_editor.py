"""A minimal line editor: the typed text and its echo on the screen."""

from typing import Final, assert_never

from robota.clients.terminal.keys import Key, KeyPress, PastedText, TypedText
from robota.clients.terminal.line_writer import LineWriter
from robota.clients.terminal.width import columns_of

SIGN: Final = "> "


class LineEditor:
    """A text that is edited at its end. The text after the prompt sign on the screen is the one that is sent."""

    def __init__(self, lines: LineWriter) -> None:
        self.lines = lines
        self._written = -1  # the number of characters written when our echo was the last output
        self._standing = (-1, "")  # the same for the last call of `show`, and what it showed
        self.text = ""
        self.has_sign = False

    def press(self, key: KeyPress) -> None:
        """Apply a key to the text and the screen."""
        match key:
            case TypedText(text) | PastedText(text):
                self._insert(text)
            case Key.ENTER | Key.NEW_LINE:
                self._insert("\n")
            case Key.ERASE:
                self._erase(len(self.text) - self._last_letter())
            case Key.ERASE_WORD:
                self._erase(len(self.text) - self._last_word())
            case Key.ERASE_ALL:
                self._erase(len(self.text))
            case Key.CLEAR_SCREEN:
                self.lines.clear_screen()
                self.show()
            case Key.END:
                return
            case never:
                assert_never(never)

    def take(self) -> str:
        """Return the text and clear it."""
        text, self.text = self.text, ""
        return text

    def show(self) -> None:
        """Show the prompt sign and the last line of the typed text on a new line.

        It is not shown twice if it is already there because of an earlier question.
        """
        *above, last = self.text.split("\n")
        more = f"({len(above):,} lines) " if above else ""
        shown = (SIGN if self.has_sign else "") + more + last
        if self.lines.is_open and self._standing == (self.lines.written, shown):
            return
        if self.lines.is_open:
            self.lines.words("\n")
        self.lines.words(shown)
        self._written = self.lines.written
        self._standing = (self._written, shown)

    def _insert(self, text: str) -> None:
        is_shown = not self.text or self._written == self.lines.written
        self.text += text
        if is_shown or self.lines.is_open:
            self.lines.words(text)
            self._written = self.lines.written if is_shown else -1
        else:
            self.show()

    def _last_word(self) -> int:
        """The position of the last word."""
        return len(self.text.rstrip().rpartition(" ")[0]) + (1 if " " in self.text.rstrip() else 0)

    def _last_letter(self) -> int:
        """The position of the last character including its combining marks."""
        at = len(self.text) - 1
        while at > 0 and columns_of(self.text[at]) == 0:
            at -= 1
        return max(at, 0)

    def _erase(self, characters: int) -> None:
        removed = self.text[len(self.text) - characters :]
        if not removed:
            return
        self.text = self.text.removesuffix(removed)
        if self._written == self.lines.written and self.lines.erase(removed):
            self._written = self.lines.written
        else:
            self.show()
