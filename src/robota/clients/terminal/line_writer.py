"""Write lines for the user to standard error, ignoring failures."""

import contextlib
import os

from robota.clients.terminal.line import DIM, RED, Line, TextOutput
from robota.clients.terminal.width import columns_of, wants_colour, width_of, wrapped
from robota.protocol.events import Notice, Sandbox
from robota.text.visible import without_controls, without_surrogates


class LineWriter:
    """Writes lines to standard error, in colour on a terminal. Errors of the stream are ignored."""

    def __init__(self, err: TextOutput) -> None:
        self._err = err
        self._coloured = wants_colour(err, os.environ)
        self._moves_cursor = err.isatty() and os.environ.get("TERM") != "dumb"
        self._last = ""
        self._column = 0
        self.written = 0  # grows with everything that is written
        self.is_open = False  # whether the current line contains text
        encoding: str = getattr(err, "encoding", None) or ""
        self.bullet = "●" if encoding.lower().startswith("utf") else "*"

    @property
    def width(self) -> int | None:
        """The columns of the terminal; None if it is not a terminal, or unknown."""
        return width_of(self._err, os.environ)

    def line(self, text: str, colour: str | None = None) -> None:
        """Write a line unwrapped, on a new row."""
        if self.is_open:
            self.words("\n")
        self._last, self._column = text, 0
        shown = without_surrogates(without_controls(text))
        if colour is not None and self._coloured:
            shown = f"\x1b[{colour}m{shown}\x1b[0m"
        self._write(shown + "\n")

    def words(self, text: str) -> None:
        """Write a piece of streamed text."""
        if not text:
            return
        so_far = self._last[-1:] + text if self.is_open else text
        self.is_open = not text.endswith("\n")
        self._last = so_far.removesuffix("\n").rpartition("\n")[2]
        _, line_end, last = text.rpartition("\n")
        self._column = columns_of(last) + (0 if line_end else self._column)
        self._write(without_surrogates(without_controls(text)))

    def prose(self, text: str, colour: str | None = None, *, indent: str = "    ") -> None:
        """Write prose, on a terminal wrapped between words."""
        self.line(wrapped(text, self.width, indent), colour)

    def show(self, line: Line) -> None:
        """Write a line, unwrapped or as prose."""
        if line.indent is None:
            self.line(line.text, line.colour)
        else:
            self.prose(line.text, line.colour, indent=line.indent)

    def erase(self, end: str) -> bool:
        """Erase what was written last; False if that is impossible, because it began in a row above."""
        columns, width = columns_of(end), self.width
        in_row = self._column if width is None else (self._column - 1) % width + 1
        if not end.isprintable() or columns > in_row or columns > self._column:
            return False
        self._column -= columns
        self._write("\b \b" * columns)
        return True

    def status(self, text: str) -> bool:
        """Overwrite the current row, without a newline; an empty text clears it.

        False if nothing is shown, because the row contains text or the cursor cannot be moved.
        """
        if not self._moves_cursor or self.is_open:
            return False
        shown = without_surrogates(without_controls(text))[: (self.width or 80) - 1]
        self._write(f"\r\x1b[2K\x1b[{DIM}m{shown}\x1b[0m" if shown and self._coloured else f"\r\x1b[2K{shown}")
        return bool(shown)

    def clear_screen(self) -> None:
        """Clear the screen, as Ctrl+L does in a shell; nothing if the cursor cannot be moved."""
        self._steer("\x1b[H\x1b[2J")

    def ask_for_marked_pastes(self, wanted: bool) -> None:
        """Turn bracketed paste on or off."""
        self._steer("\x1b[?2004h" if wanted else "\x1b[?2004l")

    def gap(self) -> None:
        """Write an empty line before the next output, never two, and none at the top."""
        if self._last:
            self.line("")

    def errors(self, errors: tuple[str, ...]) -> None:
        for error in errors:
            self.prose(f"robota: {error}", RED, indent="  ")

    def notice(self, event: Notice) -> None:
        self.prose(f"robota: {event.text}", indent="  ")

    def warning(self, event: Notice) -> None:
        """Show a warning, in every output format: the user should see it even if a script reads the output."""
        if event.level == "warning":
            self.notice(event)

    def sandbox(self, event: Sandbox) -> None:
        """Show a line if commands run without a sandbox; the kind of sandbox is not shown."""
        if event.kind == "none":
            self.prose(f"robota: no sandbox is available, so commands run only if a rule allows them: {event.reason}.")

    def _steer(self, sequence: str) -> None:
        if self._moves_cursor:
            self._write(sequence)

    def _write(self, text: str) -> None:
        self.written += 1
        with contextlib.suppress(OSError, ValueError):
            try:
                self._err.write(text)
            except UnicodeEncodeError:
                self._err.write(text.encode("ascii", "backslashreplace").decode("ascii"))
            self._err.flush()
