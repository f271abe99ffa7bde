"""The live region at the end of the scrollback: rows above the input, the input, rows below it.

What is finished is printed above the region and belongs to the terminal from then on.
"""

import asyncio
import contextlib
import sys
import termios
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.cursor_shapes import ModalCursorShapeConfig
from prompt_toolkit.document import Document
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

from robota.clients.tui.live_view import SIGN_WIDTH, Frame, max_input_rows
from robota.clients.tui.screen.full_screen import FullScreen, ScreenPage
from robota.clients.tui.screen.output import FrameOutput
from robota.clients.tui.screen.terminal_input import ASK_FOR_BACKGROUND, TerminalInput, TerminalReports
from robota.clients.tui.state import Window as WindowSize
from robota.clients.tui.theme import TAB_WIDTH, Background

if TYPE_CHECKING:
    from robota.clients.terminal.guard import StartGuard, TerminalGuard

# How long to wait after an Esc, which may begin an Alt or arrow key.
ESCAPE_S: Final = 0.05


class LiveRegion:
    """A prompt_toolkit application that fits the height of the terminal."""

    def __init__(
        self,
        draw: Callable[[], Frame],
        take_rows: Callable[[], list[str]],
        edited: Callable[[str, int], None],
        bindings: KeyBindings,
        *,
        has_vi_keys: bool = False,
        start_guard: "StartGuard | None" = None,
    ) -> None:
        self._draw = draw
        self._take_rows = take_rows
        self._start_guard = start_guard
        self._guard: TerminalGuard | None = None
        self._modes_before: list[Any] = []
        self._printed: list[str] = []
        self._frame = Frame(above=(), below=(), sign="")
        self.output = FrameOutput(sys.stdout)
        self.reports = TerminalReports()
        self.full_screen = FullScreen(self.reports, self.output)
        self._input = Buffer(multiline=True)
        self._input.on_text_changed += lambda _: None if self._is_putting else edited(*self.position)
        self._is_putting = False  # our own change of the text is not typing
        self._text = self._text_window(has_vi_keys=has_vi_keys)
        self._application: Application[None] = Application(
            layout=Layout(
                HSplit(
                    [
                        _rows_window(lambda: self._frame.above),
                        self._text,
                        _rows_window(lambda: self._frame.below),
                    ]
                ),
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
        self._application.before_render += lambda _: self._begin_frame()
        self._application.after_render += lambda _: self._frame_drawn()

    @property
    def window(self) -> WindowSize:
        """The size of the terminal."""
        size = self.output.get_size()
        return WindowSize(columns=size.columns, rows=size.rows)

    @property
    def position(self) -> tuple[str, int]:
        """The text of the input, and the number of characters before the cursor."""
        return self._input.text, self._input.cursor_position

    def put_text(self, text: str, caret: int) -> None:
        """Set the text of the input and the cursor."""
        if (text, caret) != self.position:
            self._is_putting = True
            self._input.set_document(Document(text, caret), bypass_readonly=True)
            self._is_putting = False

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

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Within this context another program, or another screen, has the terminal."""
        async with in_terminal():
            yield

    async def show_page(self, page: ScreenPage) -> None:
        """Show a full screen until one of its keys closes it."""
        async with self.lent():
            await self.full_screen.show(page)

    def _begin_frame(self) -> None:
        """Start a frame: hold the output, print finished rows, and erase rows that are no longer needed."""
        self.output.hold()
        # Before everything else in the frame.
        self._printed += self._take_rows()
        self._frame = self._draw()
        size = self.output.get_size()
        renderer = self._application.renderer
        last = renderer.last_rendered_screen
        text = self._text.preferred_height(size.columns, size.rows).preferred
        height = len(self._frame.above) + text + len(self._frame.below)
        if self._printed or (last is not None and min(height, size.rows) < last.height):
            renderer.erase()
        if self._printed:
            self._write_printed()

    def _frame_drawn(self) -> None:
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
                TabsProcessor(tabstop=TAB_WIDTH, char1=" ", char2=" "), Condition(lambda: "\t" in self._input.text)
            ),
        ]
        if has_vi_keys:
            processors.insert(1, DisplayMultipleCursors())
        return Window(
            BufferControl(self._input, input_processors=processors, include_default_input_processors=False),
            height=lambda: Dimension(min=1, max=max_input_rows(self.window.rows)),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=self._line_prefix,
        )

    def _line_prefix(self, line_number: int, wrap_count: int) -> AnyFormattedText:
        is_first = line_number == 0 and wrap_count == 0
        return _fragments(self._frame.sign) if is_first else " " * SIGN_WIDTH


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


def _rows_window(rows: Callable[[], Sequence[str]]) -> Window:
    def text() -> StyleAndTextTuples:
        fragments: StyleAndTextTuples = []
        for index, row in enumerate(rows()):
            fragments += [("", "\n"), *_fragments(row)] if index else _fragments(row)
        return fragments

    return Window(FormattedTextControl(text), height=lambda: Dimension.exact(len(rows())), wrap_lines=False)
