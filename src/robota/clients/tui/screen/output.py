"""The terminal as prompt_toolkit writes to it: whole pictures at once, so that nothing flickers."""

import os
from collections.abc import Sequence
from typing import Final, TextIO

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.vt100 import Vt100_Output

# Terminals that know them show what comes between as one picture; the others ignore them.
PICTURE_BEGINS: Final = "\x1b[?2026h"
PICTURE_ENDS: Final = "\x1b[?2026l"
# Terminals that break long lines anew when their window becomes narrower say so with one of these variables.
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
# Those that show a message of OSC 9 on the desktop.
MESSAGING: Final = frozenset({"iTerm.app", "WezTerm", "ghostty"})
USUAL_SIZE: Final = Size(rows=24, columns=80)


class PictureOutput(Vt100_Output):
    """Holds back what is written until a picture is complete, and writes it in one go."""

    def __init__(self, stdout: TextIO) -> None:
        # Where the cursor is nobody has to be asked: what is drawn always begins where the last line ended.
        super().__init__(stdout, lambda: _size_of(stdout), term=os.environ.get("TERM"), enable_cpr=False)
        self._is_held = False
        self._reflows = not REFLOWING.isdisjoint(os.environ)
        self._drawn: Sequence[
            int
        ] = ()  # the columns of each row down to the cursor, and of the last one those before it

    def call_person(self, words: str) -> None:
        """Call somebody who looks elsewhere: with a message where the terminal shows one, else with the bell."""
        if os.environ.get("TERM_PROGRAM") in MESSAGING and "TMUX" not in os.environ:
            self.write_raw(f"\x1b]9;{words}\x07")
            self.flush()
        else:
            self.bell()

    def hold(self) -> None:
        """A picture begins."""
        self._is_held = True

    def release(self, drawn: Sequence[int] = ()) -> None:
        """The picture is complete; `drawn` are the columns of its rows down to the cursor."""
        self._is_held = False
        self._drawn = drawn
        self.flush()

    def cursor_up(self, amount: int) -> None:
        """Go up; where the window has become narrower and rows were broken, past all that became of them."""
        columns = self.get_size().columns
        broken = sum(max(0, width - 1) // columns for width in self._drawn) if self._reflows else 0
        self._drawn = ()  # from there on everything is drawn anew
        super().cursor_up(amount + broken)

    def flush(self) -> None:
        """Write what there is, unless a picture has begun and not ended."""
        if self._is_held or not self._buffer:
            return
        self._buffer.insert(0, PICTURE_BEGINS)
        self._buffer.append(PICTURE_ENDS)
        super().flush()


def _size_of(stdout: TextIO) -> Size:
    try:
        columns, rows = os.get_terminal_size(stdout.fileno())
    except (OSError, ValueError):
        return USUAL_SIZE
    return Size(rows=rows or USUAL_SIZE.rows, columns=columns or USUAL_SIZE.columns)
