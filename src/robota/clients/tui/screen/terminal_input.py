"""Keyboard input for prompt_toolkit, without the terminal's own reports."""

import re
import sys
from collections.abc import Callable
from typing import Final

from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding.key_processor import KeyPress

from robota.clients.tui.theme import Background

ASK_FOR_BACKGROUND: Final = "\x1b]11;?\x1b\\"
REPORT: Final = r"\x1b\]11;(?P<colour>[^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b\[(?P<focus>[IO])"
# An incomplete answer about the background.
BEGUN: Final = r"\x1b\](?:1(?:1(?:;[^\x07\x1b]*\x1b?)?)?)?$"
COLOUR: Final = r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})"
# The weights of red, green and blue in the perceived brightness.
BRIGHTNESS: Final = (0.299, 0.587, 0.114)


class TerminalReports:
    """The terminal's reports about itself, extracted from the input."""

    def __init__(self) -> None:
        self.on_background: Callable[[Background], None] = lambda background: None
        self.is_focused: bool | None = None  # None until the terminal has reported it
        self.awaits_background = False

    def take(self, report: re.Match[str]) -> str:
        """Handle a report; returns an empty text to remove it from the keys."""
        if report["focus"]:
            self.is_focused = report["focus"] == "I"
        elif (background := background_of(report["colour"])) is not None:
            self.awaits_background = False
            self.on_background(background)
        return ""


class TerminalInput(Vt100Input):
    """Passes keys to prompt_toolkit, and reports of the terminal to `TerminalReports`.

    Each application needs a separate instance: the timer that decides that an Esc is a lone key keeps running while
    another application reads the keys, and would take an Esc from it.
    """

    def __init__(self, reports: TerminalReports) -> None:
        super().__init__(sys.stdin)
        self._reports = reports
        self._begun = ""

    def read_keys(self) -> list[KeyPress]:
        """The keys since the last call."""
        self.vt100_parser.feed(self._without_reports(self._begun + self.stdin_reader.read()))
        return self._taken()

    def flush_keys(self) -> list[KeyPress]:
        """The pending keys when nothing follows, such as a lone Esc."""
        if self._begun:
            self.vt100_parser.feed(self._begun)
            self._begun = ""
        self.vt100_parser.flush()
        return self._taken()

    def _taken(self) -> list[KeyPress]:
        keys, self._buffer = self._buffer, []
        return keys

    def _without_reports(self, data: str) -> str:
        self._begun = ""
        if "\x1b" not in data:
            return data
        keys = re.sub(REPORT, self._reports.take, data)
        begun = re.search(BEGUN, keys) if self._reports.awaits_background else None
        if begun is not None:
            self._begun = begun[0]
            keys = keys[: begun.start()]
        return keys


def background_of(colour: str) -> Background | None:
    """Whether a colour in X11 notation is light or dark; None if it is invalid."""
    parts = re.match(COLOUR, colour)
    if parts is None:
        return None
    shares = (int(part, 16) / (16 ** len(part) - 1) for part in parts.groups())
    bright = sum(share * weight for share, weight in zip(shares, BRIGHTNESS, strict=True))
    return Background.LIGHT if bright > 0.5 else Background.DARK
