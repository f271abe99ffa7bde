"""`robota` at a terminal emulator: what a user sees, row by row, with the scrollback above."""

import colorsys
import copy
import re
import termios
import time
from collections.abc import Mapping
from typing import Any

import pyte

from tests.harness.cli import EXECUTABLE, Robota
from tests.harness.terminal import LONGEST_WAIT_S, Terminal

CAPABLE = {"TERM": "xterm-256color"}
# pyte takes what comes after the private sign for a colour.
UNKNOWN_TO_PYTE = re.compile(r"\x1b\[>[0-9;]*[a-z]|\x1b\]8;[^\x1b]*\x1b\\")
OTHER_SCREEN = re.compile(r"(\x1b\[\?1049[hl])")
# A terminal shows a picture when all of it has come; and the beginning of a sequence is not yet one.
NOT_ALL_HERE = re.compile(r"\x1b\[\?2026h(?:(?!\x1b\[\?2026l).)*$|\x1b(?:\[[0-9;?>]*|\][^\x07\x1b]*\x1b?)?$", re.DOTALL)
SCROLLBACK = 10_000
# As pyte calls them; its brown is what others call yellow.
COLOURS = {
    "red": "r",
    "green": "g",
    "brown": "y",
    "blue": "b",
    "magenta": "m",
    "cyan": "c",
    "brightblack": "k",
    "brightred": "r",
    "brightgreen": "g",
    "brightblue": "b",
    "brightcyan": "c",
    "brightmagenta": "m",
}


class ScreenTerminal(Terminal):
    """A terminal of so many columns and rows that is really drawn. Half a picture is never seen on it."""

    def __init__(
        self,
        robota: Robota,
        *arguments: str,
        columns: int = 80,
        rows: int = 24,
        env: Mapping[str, str] | None = None,
        program: str = str(EXECUTABLE),
    ) -> None:
        self._emulated = pyte.HistoryScreen(columns, rows, history=SCROLLBACK, ratio=0.5)
        self._stream = pyte.Stream(self._emulated)
        self._held = ""  # what has come and cannot be shown yet
        self._kept: tuple[Any, Any] | None = None  # the first screen while the second is shown
        super().__init__(robota, *arguments, env={**CAPABLE, **(env or {})}, size=(columns, rows), program=program)

    @property
    def rows(self) -> list[str]:
        """What stands on the screen now."""
        return [row.rstrip() for row in self._emulated.display]

    @property
    def scrolled(self) -> list[str]:
        """Everything that can be scrolled back to, and the screen."""
        lines = [
            "".join(line[column].data for column in range(self._emulated.columns)).rstrip()
            for line in self._emulated.history.top
        ]
        return [*lines, *self.rows]

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row of the cursor."""
        return self._emulated.cursor.x, self._emulated.cursor.y

    def picture(self) -> str:
        """Everything from the beginning on; below each row that has colours, a letter for that of each character."""
        found: list[str] = []
        columns = range(self._emulated.columns)
        for line in (*self._emulated.history.top, *(self._emulated.buffer[row] for row in range(self._emulated.lines))):
            text = "".join(line[column].data for column in columns).rstrip()
            colours = "".join(_letter(line[column]) for column in columns).rstrip(" ")
            found += [text, colours] if colours else [text]
        return "\n".join(found).rstrip("\n")

    def colour(self, row: int, column: int) -> str:
        """The colour of a character on the screen."""
        return str(self._emulated.buffer[row][column].fg)

    def sees(self, words: str) -> list[str]:
        """Wait until the words stand on the screen; the rows then."""
        deadline = time.monotonic() + LONGEST_WAIT_S
        while words not in "\n".join(self.rows):
            assert self._read(deadline), f"{words!r} is not on the screen:\n" + "\n".join(self.rows)
        return self.rows

    def sees_no_more(self, words: str) -> list[str]:
        """Wait until the words are gone from the screen; the rows then."""
        deadline = time.monotonic() + LONGEST_WAIT_S
        while words in "\n".join(self.rows):
            assert self._read(deadline), f"{words!r} is still on the screen:\n" + "\n".join(self.rows)
        return self.rows

    def resize(self, columns: int, rows: int) -> None:
        """Make the window another size."""
        self._emulated.resize(rows, columns)
        termios.tcsetwinsize(self._ours, (rows, columns))

    def _change_screen(self, *, to_other: bool) -> None:
        """Programs may draw on a second screen and come back to the first, which pyte does not know."""
        emulated = self._emulated
        if to_other:
            self._kept = copy.deepcopy(emulated.buffer), copy.copy(emulated.cursor)
            emulated.erase_in_display(2)
        elif self._kept is not None:
            (emulated.buffer, emulated.cursor), self._kept = self._kept, None

    def _known(self, text: str) -> str:
        """What came, as the emulator understands it."""
        return text

    @property
    def cells(self) -> list[list[pyte.screens.Char]]:
        """Every character of the screen with its looks."""
        lines = (self._emulated.buffer[row] for row in range(self._emulated.lines))
        return [[line[column] for column in range(self._emulated.columns)] for line in lines]

    def _read(self, deadline: float) -> bool:
        before = len(self.screen)
        is_read = super()._read(deadline)
        come = self._held + self.screen[before:]
        rest = NOT_ALL_HERE.search(come)
        end = len(come) if rest is None else rest.start()
        self._held = come[end:]
        shown = self._known(UNKNOWN_TO_PYTE.sub("", come[:end].replace("\n", "\r\n")))
        for part in OTHER_SCREEN.split(shown):
            if OTHER_SCREEN.fullmatch(part):
                self._change_screen(to_other=part.endswith("h"))
            else:
                self._stream.feed(part)
        return is_read


def _letter(character: pyte.screens.Char) -> str:
    """How a character looks: blank if like any other."""
    if character.reverse:
        return "#"
    is_tinted = character.bg != "default"
    plain = "+" if character.bold or character.underscore else "~" if is_tinted else " "
    letter = COLOURS.get(character.fg) or _hue(character.fg) or plain
    return letter.upper() if character.bold else letter


def _hue(colour: str) -> str:
    """The letter of one of many colours; empty if it is none."""
    if not re.fullmatch(r"[0-9a-f]{6}", colour):
        return ""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)))
    is_grey = saturation < 0.15 or lightness > 0.95
    return "k" if is_grey else "rygcbmr"[round(hue * 6)]
