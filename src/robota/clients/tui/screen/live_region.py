"""The live region at the end of the scrollback: rows above the input, the input, rows below it.

What is finished is printed above the region and belongs to the terminal from then on.
"""

import asyncio
import contextlib
import sys
import termios
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.cursor_shapes import ModalCursorShapeConfig
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import (
    BufferControl,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import (
    ConditionalProcessor,
    DisplayMultipleCursors,
    HighlightSelectionProcessor,
    Processor,
    TabsProcessor,
)
from prompt_toolkit.layout.screen import Char

from robota.clients.terminal.width import columns_of
from robota.clients.tui.screen.full_screen import FullScreen
from robota.clients.tui.screen.output import PictureOutput
from robota.clients.tui.screen.terminal_input import ASK_FOR_BACKGROUND, TerminalInput, TerminalReports
from robota.clients.tui.theme import TAB_WIDTH, Background, Role, Theme, cut_columns, safe

if TYPE_CHECKING:
    from robota.clients.terminal.guard import StartGuard, TerminalGuard

# How long to wait after an Esc, which may begin an Alt or arrow key.
ESCAPE_S: Final = 0.05
MOST_INPUT_ROWS: Final = 10
SIGN_WIDTH: Final = 2
# A lower window has no room for the frame of the input.
LOWEST_WITH_EDGES: Final = 10


class Regions(Protocol):
    """Draws the rows around the input, and prints finished output above them."""

    def new_rows(self) -> list[str]: ...

    def rows_above(self, room: int) -> list[str]: ...

    def rows_below(self) -> list[str]: ...

    def sign(self) -> str: ...

    def frame_title(self) -> str: ...

    def edge_role(self) -> Role: ...


class LiveRegion:
    """A prompt_toolkit application that fits the height of the terminal."""

    def __init__(
        self,
        regions: Regions,
        bindings: KeyBindings,
        theme: Theme,
        *,
        has_vi_keys: bool = False,
        start_guard: "StartGuard | None" = None,
    ) -> None:
        self._regions = regions
        self._start_guard = start_guard
        self._guard: TerminalGuard | None = None
        self._modes_before: list[Any] = []
        self._theme = theme
        self._printed: list[str] = []
        # The rows around the input, with its edges.
        self._above: list[str] = []
        self._below: list[str] = []
        self.output = PictureOutput(sys.stdout)
        self.reports = TerminalReports()
        self.full_screen = FullScreen(self.reports, self.output)
        self.input = Buffer(multiline=True)
        self._text = self._text_window(has_vi_keys=has_vi_keys)
        self._application: Application[None] = Application(
            layout=Layout(
                HSplit([_rows_window(lambda: self._above), self._text, _rows_window(lambda: self._below)]),
            ),
            key_bindings=bindings,
            input=TerminalInput(self.reports),
            output=self.output,
            erase_when_done=True,
            include_default_pygments_style=False,
            max_render_postpone_time=None,  # output is drawn at intervals anyway, keys at once
            editing_mode=EditingMode.VI if has_vi_keys else EditingMode.EMACS,
            cursor=ModalCursorShapeConfig() if has_vi_keys else None,
            terminal_size_polling_interval=None,  # a signal reports changes, and nothing should wake an idle process
        )
        self._application.ttimeoutlen = ESCAPE_S
        self._application.timeoutlen = ESCAPE_S
        self._application.before_render += lambda _: self._begin_picture()
        self._application.after_render += lambda _: self._picture_drawn()

    @property
    def width(self) -> int:
        """The columns of the terminal."""
        return self.output.get_size().columns

    @property
    def height(self) -> int:
        """The rows of the terminal."""
        return self.output.get_size().rows

    @property
    def input_columns(self) -> int:
        """The columns of a row of the input."""
        return max(1, self.width - SIGN_WIDTH)

    @property
    def room(self) -> int:
        """The rows that are left above the input."""
        top_edge = 1 if self.has_edges else 0
        text = min(self._input_rows(), self._most_input_rows())
        return max(0, self.height - len(self._below) - top_edge - text)

    async def run(self, begin: Callable[[], None]) -> None:
        """Read keys and draw until `leave`; `begin` is called when it can draw. What fails in between is raised."""
        loop = asyncio.get_running_loop()
        before = loop.get_exception_handler()
        loop.set_exception_handler(self._failed_in_loop)
        if self._start_guard is not None:
            self._modes_before = termios.tcgetattr(sys.stdin.fileno())
        try:
            await self._application.run_async(pre_run=begin, handle_sigint=False, set_exception_handler=False)
        finally:
            loop.set_exception_handler(before)
            if self._guard is not None:
                self._guard.close()

    def _failed_in_loop(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """End the UI if a key or drawing fails, so that the user is not left with a dead screen."""
        error = context.get("exception")
        if "handle" not in context or not isinstance(error, Exception):
            loop.default_exception_handler(context)
        elif self._application.is_running and not self._application.is_done:
            self.output.release()
            self._application.exit(exception=error)

    def leave(self) -> None:
        """Remove the region from the screen and end."""
        if self._application.is_running and not self._application.is_done:
            self._application.exit()

    def ask_background(self, then: Callable[[Background], None]) -> None:
        """Ask the terminal whether it is light or dark; terminals without support do not answer."""
        self.reports.on_background = then
        self.reports.awaits_background = True
        self.output.write_raw(ASK_FOR_BACKGROUND)

    def print_above(self, rows: Iterable[str]) -> None:
        """Print finished rows."""
        self._printed += rows
        self._application.invalidate()

    def print_rest(self, rows: Iterable[str]) -> None:
        """Print the remaining rows after the region was removed."""
        self._printed += rows
        self._write_printed()
        with contextlib.suppress(OSError):  # the terminal may have gone too
            self.output.flush()

    def _write_printed(self) -> None:
        rows, self._printed = self._printed, []
        self.output.write_raw("".join(f"{row}\x1b[0m\r\n" for row in rows))

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
        """Start a frame: hold the output, print finished rows, and erase rows that are no longer needed."""
        self.output.hold()
        # Before everything else in the frame.
        self._printed += self._regions.new_rows()
        size = self.output.get_size()
        has_edges = self.has_edges
        self._below = self._regions.rows_below()[-max(1, size.rows - 2) :]
        if has_edges:
            self._below.insert(0, self._edge(size.columns))
        self._above = self._regions.rows_above(self.room)
        if has_edges:
            self._above.append(self._top_edge())
        renderer = self._application.renderer
        last = renderer.last_rendered_screen
        text = self._text.preferred_height(size.columns, size.rows).preferred
        wanted = len(self._above) + text + len(self._below)
        if self._printed or (last is not None and min(wanted, size.rows) < last.height):
            renderer.erase()
        if self._printed:
            self._write_printed()

    def _picture_drawn(self) -> None:
        self.output.release(self._drawn())
        if self._guard is None and self._start_guard is not None:  # not before the first screen, which it would delay
            self._guard = self._start_guard(self._modes_before)
            self.output.guarded_by(self._guard)

    def _drawn(self) -> list[int]:
        """The columns of the rows down to the cursor."""
        screen = self._application.renderer.last_rendered_screen
        if screen is None:
            return []
        cursor = screen.get_cursor_position(self._application.layout.current_window)
        return [*(_columns_written(screen.data_buffer[row]) for row in range(cursor.y)), cursor.x]

    def _text_window(self, *, has_vi_keys: bool) -> Window:
        # Each processor handles all characters several times per key, so only the necessary ones are used.
        processors: list[Processor] = [
            HighlightSelectionProcessor(),
            ConditionalProcessor(
                TabsProcessor(tabstop=TAB_WIDTH, char1=" ", char2=" "), Condition(lambda: "\t" in self.input.text)
            ),
        ]
        if has_vi_keys:
            processors.insert(1, DisplayMultipleCursors())
        return Window(
            BufferControl(self.input, input_processors=processors, include_default_input_processors=False),
            height=lambda: Dimension(min=1, max=self._most_input_rows()),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=self._line_prefix,
        )

    @property
    def has_edges(self) -> bool:
        """Whether the window is high enough for more than what is needed."""
        return self.height >= LOWEST_WITH_EDGES

    def _most_input_rows(self) -> int:
        return max(1, min(MOST_INPUT_ROWS, self.height // 2))

    def _input_rows(self) -> int:
        room = self.input_columns
        return sum(columns_of(line) // room + 1 for line in self.input.document.lines[: MOST_INPUT_ROWS + 1])

    def _edge(self, columns: int) -> str:
        return self._theme.paint("─" * columns, self._regions.edge_role())

    def _line_prefix(self, line_number: int, wrap_count: int) -> AnyFormattedText:
        is_first = line_number == 0 and wrap_count == 0
        return _fragments(self._theme.paint(self._regions.sign(), Role.ACTIVE)) if is_first else " " * SIGN_WIDTH

    def _top_edge(self) -> str:
        """The upper edge of the input, with the name of the session at its right."""
        name = cut_columns(safe(self._regions.frame_title()), max(0, self.width - 8))
        if not name:
            return self._edge(self.width)
        left = self.width - columns_of(name) - 5
        pieces = (("─" * left, self._regions.edge_role()), (f" {name} ", Role.NAME), ("───", self._regions.edge_role()))
        return "".join(self._theme.paint(text, role) for text, role in pieces)


@lru_cache(maxsize=256)
def _fragments(row: str) -> StyleAndTextTuples:
    """The row as fragments of one style each: `ANSI` makes one of every character, and each key processes them all."""
    return [
        (style, "".join(text for _, text, *_ in pieces))
        for style, pieces in groupby(to_formatted_text(ANSI(row)), key=lambda piece: piece[0])
    ]


def _columns_written(row: Mapping[int, Char]) -> int:
    """The written width of a row: trailing spaces are never written."""
    return max((column for column, cell in row.items() if cell.char != " "), default=-1) + 1


def _rows_window(rows: Callable[[], list[str]]) -> Window:
    def text() -> StyleAndTextTuples:
        fragments: StyleAndTextTuples = []
        for place, row in enumerate(rows()):
            fragments += [("", "\n"), *_fragments(row)] if place else _fragments(row)
        return fragments

    return Window(FormattedTextControl(text), height=lambda: Dimension.exact(len(rows())), wrap_lines=False)
