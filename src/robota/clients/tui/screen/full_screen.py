"""Full screens, on the alternate buffer: draw rows and pass keys on; the scrollback is not touched."""

from collections.abc import Sequence
from typing import Final, Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, Layout, Window

from robota.clients.tui.painted_rows import filled
from robota.clients.tui.screen.output import FrameOutput
from robota.clients.tui.screen.terminal_input import TerminalInput, TerminalReports

ESCAPE_S: Final = 0.05
KEYS: Final = {
    "up": "up",
    "down": "down",
    "left": "left",
    "right": "right",
    "pageup": "pageup",
    "pagedown": "pagedown",
    "home": "home",
    "end": "end",
    "tab": "tab",
    "s-tab": "s-tab",
    "c-m": "enter",
    "backspace": "backspace",
    "escape": "escape",
    "c-c": "escape",
    "c-o": "escape",
    "c-p": "up",
    "c-n": "down",
    "c-u": "c-u",
}


class ScreenPage(Protocol):
    """What is on the screen."""

    def rows(self, width: int, height: int) -> Sequence[str]: ...

    def press(self, key: str) -> bool: ...


class FullScreen:
    """Shows one page after another."""

    def __init__(self, reports: TerminalReports, output: FrameOutput) -> None:
        self._reports = reports
        self._output = output
        self._application: Application[None] | None = None
        self._notice = ""

    async def show(self, page: ScreenPage) -> None:
        """Show a page until one of its keys closes it."""
        control = FormattedTextControl(lambda: self._drawn(page))
        application: Application[None] = Application(
            layout=Layout(Window(control, wrap_lines=False, always_hide_cursor=True)),
            key_bindings=self._bindings(page),
            input=TerminalInput(self._reports),
            output=self._output,
            full_screen=True,
            terminal_size_polling_interval=None,  # a signal reports changes
        )
        application.ttimeoutlen = ESCAPE_S
        application.timeoutlen = ESCAPE_S
        self._application = application
        self._notice = ""
        try:
            await application.run_async(handle_sigint=False)
        finally:
            self._application = None

    def redraw(self) -> None:
        """Draw changes that no key caused."""
        if self._application is not None:
            self._application.invalidate()

    def tell(self, row: str) -> None:
        """Show a row at the bottom of the open page: something waits behind it."""
        self._notice = row
        self.redraw()

    def _drawn(self, page: ScreenPage) -> AnyFormattedText:
        size = self._output.get_size()
        rows = list(page.rows(size.columns, size.rows)[: size.rows])
        shown = [*rows[:-1], self._notice] if self._notice else rows
        return ANSI("\n".join(filled(row, size.columns) for row in shown))

    def _bindings(self, page: ScreenPage) -> KeyBindings:
        bindings = KeyBindings()

        def press(event: KeyPressEvent, key: str) -> None:
            if not event.app.is_done and not page.press(key):
                event.app.exit()

        for name, key in KEYS.items():
            bindings.add(name, eager=True)(lambda event, key=key: press(event, key))

        @bindings.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            press(event, event.data)

        return bindings
