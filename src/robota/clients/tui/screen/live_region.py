"""The live region at the end of the scrollback: rows above the input, the input, rows below it.

What is finished is printed above the region and belongs to the terminal from then on.
"""

import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final, Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, VerticalAlign, Window
from prompt_toolkit.layout.dimension import Dimension

from robota.clients.terminal.width import columns_of
from robota.clients.tui.screen.output import PictureOutput
from robota.clients.tui.theme import Role, Theme, cut_columns, safe

# How long an Esc is waited for to become an Alt or an arrow key.
ESCAPE_S: Final = 0.05
MOST_INPUT_ROWS: Final = 10
SIGN_WIDTH: Final = 2
# Rows that the input and the status bar need in any case.
ROWS_AROUND: Final = 5


class Regions(Protocol):
    """What is drawn around the input."""

    def rows_above(self) -> list[str]: ...

    def rows_below(self) -> list[str]: ...

    def sign(self) -> str: ...

    def frame_title(self) -> str: ...


class LiveRegion:
    """A running prompt_toolkit application that is no taller than the terminal."""

    def __init__(self, regions: Regions, bindings: KeyBindings, theme: Theme, *, has_vi_keys: bool = False) -> None:
        self._regions = regions
        self._theme = theme
        self._printed: list[str] = []
        self._above: list[str] = []  # the rows of the picture that is being drawn
        self._below: list[str] = []
        self.output = PictureOutput(sys.stdout)
        self.input = Buffer(multiline=True)
        self._application: Application[None] = Application(
            layout=Layout(self._container()),
            key_bindings=bindings,
            output=self.output,
            erase_when_done=True,
            editing_mode=EditingMode.VI if has_vi_keys else EditingMode.EMACS,
        )
        self._application.ttimeoutlen = ESCAPE_S
        self._application.timeoutlen = ESCAPE_S
        self._application.before_render += lambda _: self._begin_picture()
        self._application.after_render += lambda _: self.output.release(self._drawn())

    @property
    def width(self) -> int:
        """The columns of the terminal."""
        return self.output.get_size().columns

    @property
    def height(self) -> int:
        """The rows of the terminal."""
        return self.output.get_size().rows

    async def run(self, begin: Callable[[], None]) -> None:
        """Read keys and draw until `leave`; `begin` is called when it can draw."""
        await self._application.run_async(pre_run=begin, handle_sigint=False)

    def leave(self) -> None:
        """Take the region off the screen and end."""
        if self._application.is_running and not self._application.is_done:
            self._application.exit()

    def print_above(self, rows: Iterable[str]) -> None:
        """Print rows for good."""
        self._printed += rows
        self._application.invalidate()

    def unprinted(self) -> list[str]:
        """The rows that were to be printed and are not yet, because the region has gone."""
        rows, self._printed = self._printed, []
        return rows

    def redraw(self) -> None:
        """Draw what has changed."""
        self._application.invalidate()

    def suspend(self) -> None:
        """Leave the terminal to the shell until `fg`."""
        self._application.suspend_to_background()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Within this context another program, or another screen, has the terminal."""
        async with in_terminal():
            yield

    def _begin_picture(self) -> None:
        """Hold everything until the picture is complete; print what is finished, take back what is not needed."""
        self.output.hold()
        size = self.output.get_size()
        self._below = self._regions.rows_below()
        room = max(0, size.rows - ROWS_AROUND - len(self._below))
        self._above = self._regions.rows_above()[-room:] if room else []
        renderer = self._application.renderer
        last = renderer.last_rendered_screen
        wanted = self._application.layout.container.preferred_height(size.columns, size.rows).preferred
        if self._printed or (last is not None and min(wanted, size.rows) < last.height):
            renderer.erase()
        if self._printed:
            self.output.write_raw("".join(f"{row}\x1b[0m\r\n" for row in self.unprinted()))

    def _drawn(self) -> list[int]:
        """The columns of the rows down to the cursor."""
        screen = self._application.renderer.last_rendered_screen
        if screen is None:
            return []
        cursor = screen.get_cursor_position(self._application.layout.current_window)
        return [*(max(screen.data_buffer[row], default=-1) + 1 for row in range(cursor.y)), cursor.x]

    def _container(self) -> HSplit:
        return HSplit(
            [
                _rows_window(lambda: self._above),
                Window(FormattedTextControl(self._top_rule), height=1),
                Window(
                    BufferControl(self.input),
                    height=lambda: Dimension(min=1, max=min(MOST_INPUT_ROWS, max(1, self.height - ROWS_AROUND + 1))),
                    wrap_lines=True,
                    dont_extend_height=True,
                    get_line_prefix=self._line_prefix,
                ),
                Window(FormattedTextControl(lambda: ANSI(self._theme.paint("─" * self.width, Role.DIM))), height=1),
                _rows_window(lambda: self._below),
            ],
            align=VerticalAlign.TOP,
        )

    def _line_prefix(self, line_number: int, wrap_count: int) -> AnyFormattedText:
        is_first = line_number == 0 and wrap_count == 0
        return ANSI(self._theme.paint(self._regions.sign(), Role.ACTIVE)) if is_first else " " * SIGN_WIDTH

    def _top_rule(self) -> AnyFormattedText:
        """The upper edge of the input, with the name of the session at its right."""
        name = cut_columns(safe(self._regions.frame_title()), max(0, self.width - 8))
        if not name:
            return ANSI(self._theme.paint("─" * self.width, Role.DIM))
        left = self.width - columns_of(name) - 5
        pieces = (("─" * left, Role.DIM), (f" {name} ", Role.NAME), ("───", Role.DIM))
        return ANSI("".join(self._theme.paint(text, role) for text, role in pieces))


def _rows_window(rows: Callable[[], list[str]]) -> Window:
    return Window(
        FormattedTextControl(lambda: ANSI("\n".join(rows()))),
        height=lambda: Dimension.exact(len(rows())),
        wrap_lines=False,
    )
