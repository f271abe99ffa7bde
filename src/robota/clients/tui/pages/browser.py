"""A full-screen list with a preview of the selected option."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from robota.clients.terminal.width import columns_of
from robota.clients.tui.flows.list_picker import Picked, picker_for, press_in_list
from robota.clients.tui.painted_rows import plain
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.widgets.lists import option_row
from robota.clients.tui.widgets.page_row import PageRow, laid_out
from robota.protocol.slash_commands import CommandChoice, CommandOption

MIN_WIDTH_BESIDE: Final = 110
SHARE_OF_LIST: Final = 0.4
KEYS: Final = "Enter select  type to filter  PgUp/PgDn scroll  Esc cancel"


class BrowsedList:
    """The list, and the preview of the selected row: next to it if there is room, else below.

    `load` is called for an option without a preview; `show` supplies it.
    """

    def __init__(self, choice: CommandChoice, theme: Theme, load: Callable[[CommandOption], None]) -> None:
        self._theme = theme
        self._load = load
        self._picker = picker_for(choice)
        self._previews: dict[str, Sequence[PageRow]] = {}
        self._asked: set[str] = set()
        self._top = 0
        self.picked: CommandOption | None = None

    def show(self, option: CommandOption, rows: Sequence[PageRow]) -> None:
        """Set the preview of an option."""
        self._previews[option.preview] = rows

    def press(self, key: str) -> bool:
        """Handle a key; False closes the page."""
        if key in ("pageup", "pagedown"):
            self._top = max(0, self._top + (10 if key == "pagedown" else -10))
            return True
        before = self._chosen()
        after = press_in_list(self._picker, "space" if key == " " else key)
        if isinstance(after, Picked):
            self.picked = after.option
            return False
        self._picker = after
        if self._chosen() != before:
            self._top = 0
        return True

    def rows(self, width: int, height: int) -> Sequence[str]:
        """The title, the list, the preview, the keys."""
        self._look_at_chosen()
        head, foot = self._head(width), self._theme.row([(KEYS, Role.CHOSEN)], width)
        room = max(1, height - 2)
        if width >= MIN_WIDTH_BESIDE:
            left = int(width * SHARE_OF_LIST)
            listed = self._list_rows(left - 2, room)
            preview = self._preview(width - left - 1, room)
            body = [self._beside(row, other, left) for row, other in zip(listed, preview, strict=True)]
        else:
            upper = min(len(self._picker.options) or 1, max(1, int(room * SHARE_OF_LIST)))
            rule = self._theme.paint("─" * width, Role.DIM)
            body = [*self._list_rows(width, upper), rule, *self._preview(width, room - upper - 1)]
        return [head, *body, foot]

    def _chosen(self) -> CommandOption | None:
        options, index = self._picker.options, self._picker.rows.index
        return options[index] if index is not None and index < len(options) else None

    def _look_at_chosen(self) -> None:
        chosen = self._chosen()
        if chosen is not None and chosen.preview and chosen.preview not in self._asked:
            self._asked.add(chosen.preview)
            self._load(chosen)

    def _head(self, width: int) -> str:
        picker = self._picker
        count = f"  {len(picker.options)} of {len(picker.choice.options)}"
        words = f"  [{picker.words}]" if picker.words else ""
        return self._theme.row([(picker.choice.title, Role.BOLD), (words, Role.ACTIVE), (count, Role.DIM)], width)

    def _list_rows(self, width: int, room: int) -> list[str]:
        picker = self._picker
        if not picker.options:
            rows = [self._theme.row([("  No matches.", Role.DIM)], width)]
        else:
            shown = replace(picker.rows, height=room)
            rows = [option_row(picker, index, self._theme, width) for index in shown.visible]
        return [*rows, *[""] * (room - len(rows))]

    def _preview(self, width: int, room: int) -> list[str]:
        chosen = self._chosen()
        if room <= 0:
            return []
        preview = self._previews.get(chosen.preview) if chosen is not None else ()
        if preview is None:
            rows = [self._theme.paint("…", Role.DIM)]
        else:
            rows = [part for row in preview for part in laid_out(row, self._theme, width)]
        self._top = max(0, min(self._top, len(rows) - room))
        shown = rows[self._top : self._top + room]
        return [*shown, *[""] * (room - len(shown))]

    def _beside(self, row: str, other: str, left: int) -> str:
        gap = " " * max(0, left - 2 - columns_of(plain(row)))
        return f"{row}{gap} {self._theme.paint('│', Role.DIM)} {other}"
