"""A full screen to read in: the whole conversation, with search."""

from collections.abc import Sequence
from typing import Final

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window

from robota.clients.tui.flows.reading import PagerReading, press_while_reading
from robota.clients.tui.screen.output import PictureOutput
from robota.clients.tui.theme import Role, Theme

KEYS: Final = {
    "up": "up",
    "down": "down",
    "pageup": "pageup",
    "pagedown": "pagedown",
    "home": "home",
    "end": "end",
    "c-m": "enter",
    "backspace": "backspace",
    "escape": "escape",
    "c-c": "escape",
    "c-o": "escape",
}


async def show_pages(rows: Sequence[str], output: PictureOutput, theme: Theme) -> None:
    """Let the person read until they close it."""
    await Pager(rows, output, theme).run()


class Pager:
    """Draws the rows that a `PagerReading` says, and gives it the keys."""

    def __init__(self, rows: Sequence[str], output: PictureOutput, theme: Theme) -> None:
        self._output = output
        self._theme = theme
        self._reading = PagerReading(rows=tuple(rows), height=self._height).at_end()
        self._application: Application[None] = Application(
            layout=Layout(
                HSplit(
                    [
                        Window(FormattedTextControl(self._page), wrap_lines=False, always_hide_cursor=True),
                        Window(FormattedTextControl(self._foot), height=1, always_hide_cursor=True),
                    ]
                )
            ),
            key_bindings=self._bindings(),
            output=output,
            full_screen=True,
        )
        self._application.ttimeoutlen = 0.05

    async def run(self) -> None:
        """Read keys until it is closed."""
        await self._application.run_async(handle_sigint=False)

    @property
    def _height(self) -> int:
        return max(1, self._output.get_size().rows - 1)

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()
        for name, key in KEYS.items():
            bindings.add(name, eager=True)(lambda event, key=key: self._press(key))

        @bindings.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            self._press(event.data)

        return bindings

    def _press(self, key: str) -> None:
        after = press_while_reading(self._reading.sized(self._height), key)
        if after is None:
            self._application.exit()
        else:
            self._reading = after

    def _page(self) -> AnyFormattedText:
        reading = self._reading = self._reading.sized(self._height)
        return ANSI("\n".join(reading.visible))

    def _foot(self) -> AnyFormattedText:
        return ANSI(self._theme.row([(self._reading.foot, Role.CHOSEN)], self._output.get_size().columns))
