"""Standard error: lines for a person, never worth failing for."""

import contextlib
import os

from robota.clients.terminal.line import DIM, RED, Line, TextOutput
from robota.clients.terminal.width import columns_of, wants_colour, width_of, wrapped
from robota.protocol.events import Notice, Sandbox
from robota.text.visible import without_controls, without_surrogates


class LineWriter:
    """Writes lines to standard error, in colour on a terminal. A closed or odd stream is no reason to stop."""

    def __init__(self, err: TextOutput) -> None:
        self._err = err
        self._coloured = wants_colour(err, os.environ)
        self._moves_cursor = err.isatty() and os.environ.get("TERM") != "dumb"
        self._last = ""
        self._column = 0
        self.written = 0  # grows with everything that is written
        self.is_open = False  # whether the cursor stands behind something
        encoding: str = getattr(err, "encoding", None) or ""
        self.bullet = "●" if encoding.lower().startswith("utf") else "*"

    @property
    def width(self) -> int | None:
        """The columns of the terminal; None if it is none, or nobody knows."""
        return width_of(self._err, os.environ)

    def line(self, text: str, colour: str | None = None) -> None:
        """A line as it is, beneath what stands there."""
        if self.is_open:
            self.words("\n")
        self._last, self._column = text, 0
        shown = without_surrogates(without_controls(text))
        if colour is not None and self._coloured:
            shown = f"\x1b[{colour}m{shown}\x1b[0m"
        self._write(shown + "\n")

    def words(self, text: str) -> None:
        """A piece of a text that is still coming."""
        if not text:
            return
        so_far = self._last[-1:] + text if self.is_open else text
        self.is_open = not text.endswith("\n")
        self._last = so_far.removesuffix("\n").rpartition("\n")[2]
        _, line_end, last = text.rpartition("\n")
        self._column = columns_of(last) + (0 if line_end else self._column)
        self._write(without_surrogates(without_controls(text)))

    def prose(self, text: str, colour: str | None = None, *, indent: str = "    ") -> None:
        """A sentence or more: on a terminal it is broken between words."""
        self.line(wrapped(text, self.width, indent), colour)

    def show(self, line: Line) -> None:
        """A line as it is, or a sentence."""
        if line.indent is None:
            self.line(line.text, line.colour)
        else:
            self.prose(line.text, line.colour, indent=line.indent)

    def erase(self, end: str) -> bool:
        """Take back what was written last; False if it cannot be, because it began in a row above."""
        columns, width = columns_of(end), self.width
        in_row = self._column if width is None else (self._column - 1) % width + 1
        if not end.isprintable() or columns > in_row or columns > self._column:
            return False
        self._column -= columns
        self._write("\b \b" * columns)
        return True

    def status(self, text: str) -> bool:
        """Write over the row that the cursor stands in, without leaving it; an empty text clears it.

        False if nothing is shown, because something stands there or the cursor cannot be moved.
        """
        if not self._moves_cursor or self.is_open:
            return False
        shown = without_surrogates(without_controls(text))[: (self.width or 80) - 1]
        self._write(f"\r\x1b[2K\x1b[{DIM}m{shown}\x1b[0m" if shown and self._coloured else f"\r\x1b[2K{shown}")
        return bool(shown)

    def clear_screen(self) -> None:
        """What Ctrl+L does in a shell; where the cursor cannot be moved, nothing."""
        self._steer("\x1b[H\x1b[2J")

    def ask_for_marked_pastes(self, wanted: bool) -> None:
        """Let the terminal mark where a paste begins and ends (bracketed paste), or no longer."""
        self._steer("\x1b[?2004h" if wanted else "\x1b[?2004l")

    def gap(self) -> None:
        """An empty line between what was written and what comes, never two, and none at the top."""
        if self._last:
            self.line("")

    def errors(self, errors: tuple[str, ...]) -> None:
        for error in errors:
            self.prose(f"robota: {error}", RED, indent="  ")

    def notice(self, event: Notice) -> None:
        self.prose(f"robota: {event.text}", indent="  ")

    def warning(self, event: Notice) -> None:
        """Shown in every output format: something a person should know whatever a script reads."""
        if event.level == "warning":
            self.notice(event)

    def sandbox(self, event: Sandbox) -> None:
        """That nothing confines commands is worth a line; which of the kinds does is not."""
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
