"""The terminal as prompt_toolkit writes to it: whole pictures at once, so that nothing flickers."""

import os
from typing import Final, TextIO

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.vt100 import Vt100_Output

# Terminals that know them show what comes between as one picture; the others ignore them.
PICTURE_BEGINS: Final = "\x1b[?2026h"
PICTURE_ENDS: Final = "\x1b[?2026l"
USUAL_SIZE: Final = Size(rows=24, columns=80)


class PictureOutput(Vt100_Output):
    """Holds back what is written until a picture is complete, and writes it in one go."""

    def __init__(self, stdout: TextIO) -> None:
        # Where the cursor is nobody has to be asked: what is drawn always begins where the last line ended.
        super().__init__(stdout, lambda: _size_of(stdout), term=os.environ.get("TERM"), enable_cpr=False)
        self._is_held = False

    def hold(self) -> None:
        """A picture begins."""
        self._is_held = True

    def release(self) -> None:
        """The picture is complete."""
        self._is_held = False
        self.flush()

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
