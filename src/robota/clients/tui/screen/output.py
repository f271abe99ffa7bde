"""The output for prompt_toolkit: complete frames are written at once, to avoid flicker."""

import base64
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TextIO

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from robota.clients.tui.colours import ColourDepth, depth_of
from robota.protocol.appearance import NotifyBy

if TYPE_CHECKING:
    from robota.clients.terminal.guard import TerminalGuard


# Terminals that support synchronized output draw everything in between at once; others ignore the sequences.
FRAME_BEGINS: Final = "\x1b[?2026h"
FRAME_ENDS: Final = "\x1b[?2026l"
# Variables of terminals that rewrap long lines when the window becomes narrower.
REFLOWING: Final = frozenset(
    {
        "ALACRITTY_WINDOW_ID",
        "KITTY_WINDOW_ID",
        "KONSOLE_VERSION",
        "TERM_PROGRAM",
        "TMUX",
        "VTE_VERSION",
        "WEZTERM_PANE",
        "WT_SESSION",
    }
)
# The sequence for a desktop notification, by the terminal named in `TERM_PROGRAM` or `TERM`.
ITERM_MESSAGE: Final = "\x1b]9;{words}\x07"
RXVT_MESSAGE: Final = "\x1b]777;notify;Robota;{words}\x07"
MESSAGES: Final = {
    "iTerm.app": ITERM_MESSAGE,
    "WezTerm": ITERM_MESSAGE,
    "ghostty": ITERM_MESSAGE,
    "xterm-ghostty": ITERM_MESSAGE,
    "xterm-kitty": ITERM_MESSAGE,
    "foot": RXVT_MESSAGE,
    "foot-extra": RXVT_MESSAGE,
    "rxvt-unicode-256color": RXVT_MESSAGE,
}
ESCAPE: Final = "\x1b"
TELL_FOCUS: Final = "\x1b[?1004h"
TELL_NO_FOCUS: Final = "\x1b[?1004l"
USUAL_SIZE: Final = Size(rows=24, columns=80)


class FrameOutput(Vt100_Output):
    """Buffers output until a frame is complete, and writes it at once."""

    def __init__(self, stdout: TextIO) -> None:
        # No cursor position requests: every frame begins where the previous output ended.
        super().__init__(stdout, lambda: _size_of(stdout), term=os.environ.get("TERM"), enable_cpr=False)
        self._is_held = False
        self._guard: TerminalGuard | None = None
        self._is_in_use = self._is_alternate = self._is_guard_to_know = False
        self._reflows = not REFLOWING.isdisjoint(os.environ)
        self._drawn: Sequence[
            int
        ] = ()  # the columns of each row down to the cursor, and of the last one those before it

    def get_default_color_depth(self) -> ColorDepth:
        """As many colours as the terminal has; with fewer, exact ones become the nearest."""
        if depth_of(os.environ) is ColourDepth.TRUE:
            return ColorDepth.DEPTH_24_BIT
        return super().get_default_color_depth()

    def notify_user(self, words: str, by: NotifyBy) -> None:
        """Notify a user who looks elsewhere: with a notification of the terminal if it supports that, else the bell."""
        env = os.environ
        message = MESSAGES.get(env.get("TERM_PROGRAM", "")) or MESSAGES.get(env.get("TERM", ""))
        if by is NotifyBy.OFF:
            return
        if by is NotifyBy.DESKTOP and message is not None and "TMUX" not in env:
            self.write_raw(message.format(words=words))
            self.flush()
        else:
            self.bell()

    def copy(self, text: str) -> None:
        """Copy a text to the clipboard of the user's machine, also through SSH."""
        sequence = f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode()}\x07"
        if "TMUX" in os.environ:  # needs the wrapped sequence too, to pass it to the outer terminal
            sequence += f"\x1bPtmux;{sequence.replace(ESCAPE, ESCAPE * 2)}\x1b\\"
        self.write_raw(sequence)
        self.flush()

    def enable_bracketed_paste(self) -> None:
        """Also turn on focus reports, and note that the terminal is in use."""
        super().enable_bracketed_paste()
        self.write_raw(TELL_FOCUS)
        self._is_in_use = True
        self._tell_guard()

    def disable_bracketed_paste(self) -> None:
        """Also turn off focus reports: another program gets the terminal."""
        super().disable_bracketed_paste()
        self.write_raw(TELL_NO_FOCUS)
        self._is_in_use, self._is_guard_to_know = False, True

    def enter_alternate_screen(self) -> None:
        """Open a full screen; `enable_bracketed_paste` follows."""
        super().enter_alternate_screen()
        self._is_alternate = True

    def quit_alternate_screen(self) -> None:
        """Close a full screen; `disable_bracketed_paste` follows."""
        super().quit_alternate_screen()
        self._is_alternate = False

    def guarded_by(self, guard: "TerminalGuard") -> None:
        """From now on, notify the guard when the terminal is in use."""
        self._guard = guard
        self._tell_guard()

    def _tell_guard(self) -> None:
        self._is_guard_to_know = False
        if self._guard is None:
            return
        if self._is_in_use:
            self._guard.taken(is_alternate=self._is_alternate)
        else:
            self._guard.released()

    def erase_down(self) -> None:
        """Clear from here, the beginning of a row, to the end of the screen.

        If the screen is cleared from its very first cell, tmux saves it to its history. So that cell is cleared last.
        """
        self.write_raw("\x1b[C\x1b[J\r\x1b[K")

    def hold(self) -> None:
        """Start a frame."""
        self._is_held = True

    def release(self, drawn: Sequence[int] = ()) -> None:
        """End a frame; `drawn` are the columns of its rows down to the cursor."""
        self._is_held = False
        self._drawn = drawn
        self.flush()

    def cursor_up(self, amount: int) -> None:
        """Move the cursor up, and further if the terminal has rewrapped rows in a narrower window."""
        columns = self.get_size().columns
        broken = sum(max(0, width - 1) // columns for width in self._drawn) if self._reflows else 0
        self._drawn = ()  # everything below is redrawn
        super().cursor_up(amount + broken)

    def flush(self) -> None:
        """Flush the buffer, unless a frame is incomplete."""
        if self._is_held or not self._buffer:
            return
        self._buffer.insert(0, FRAME_BEGINS)
        self._buffer.append(FRAME_ENDS)
        super().flush()
        if self._is_guard_to_know:
            self._tell_guard()  # not before the terminal has got the sequences that release it


def _size_of(stdout: TextIO) -> Size:
    try:
        columns, rows = os.get_terminal_size(stdout.fileno())
    except (OSError, ValueError):
        return USUAL_SIZE
    return Size(rows=rows or USUAL_SIZE.rows, columns=columns or USUAL_SIZE.columns)
