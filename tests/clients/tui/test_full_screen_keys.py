"""The table of full-screen views and keys in docs/terminal.md: every cell is what the key does there."""

from collections.abc import Callable
from pathlib import Path

import pytest
from prompt_toolkit.keys import Keys

from robota.clients.tui.colours import ColourDepth
from robota.clients.tui.pages.browser import BrowsedList
from robota.clients.tui.pages.reader import Reader
from robota.clients.tui.painted_rows import plain
from robota.clients.tui.palettes import DARK
from robota.clients.tui.screen.full_screen import KEYS as NAMED
from robota.clients.tui.screen.full_screen import ScreenPage
from robota.clients.tui.theme import Palette, Theme
from robota.protocol.slash_commands import CommandChoice, CommandOption

PAGE = Path(__file__).parents[3] / "docs" / "terminal.md"
HEADING = "## What each key does in a full-screen view"
THEME = Theme(Palette(codes=DARK, code_style="bw", depth=ColourDepth.NONE))
WIDTH, HEIGHT = 60, 10
# The keys of the table, as the terminal names them.
KEYS = {
    "Esc": Keys.Escape.value,
    "Ctrl+C": Keys.ControlC.value,
    "Ctrl+O": Keys.ControlO.value,
    "`q`": "q",
    "Enter": Keys.ControlM.value,
    "Down": Keys.Down.value,
    "PgDn": Keys.PageDown.value,
    "`/`": "/",
    "Tab": "tab",
    "other letter": "t",
}


def reader() -> Reader:
    return Reader([f"row {number}" for number in range(100)], THEME, sections=(0, 30, 60))


def searching() -> Reader:
    page = reader()
    page.rows(WIDTH, HEIGHT)
    for key in "/9":
        page.press(key)
    return page


def browser() -> BrowsedList:
    options = tuple(CommandOption(label=f"session {n}", line=str(n), preview=str(n)) for n in range(5))
    page: BrowsedList

    def load(option: CommandOption) -> None:
        page.show(option, [f"line {number} of it" for number in range(50)])

    page = BrowsedList(CommandChoice(title="Sessions", options=options), THEME, load)
    return page


VIEWS: dict[str, Callable[[], ScreenPage]] = {
    "text: Ctrl+O, `/diff`, long output": reader,
    "text, writing after `/`": searching,
    "list with a preview: `/resume`": browser,
}


def effect(view: str, key: str) -> str:
    page = VIEWS[view]()
    before = shown(page)
    if not page.press(NAMED.get(KEYS[key], KEYS[key])):
        return "selects" if isinstance(page, BrowsedList) and page.picked is not None else "closes"
    after = shown(page)
    if before == after:
        return "—"
    return in_list(before, after) if isinstance(page, BrowsedList) else in_text(before, after)


def shown(page: ScreenPage) -> list[str]:
    return [plain(row).strip() for row in page.rows(WIDTH, HEIGHT)]


def in_text(before: list[str], after: list[str]) -> str:
    """The rows, and at the bottom the position or the words that are being written."""
    was_writing, is_writing = before[-1].startswith("/"), after[-1].startswith("/")
    if was_writing:
        found = "finds" if "/" in after[-1].partition("q close")[0] else "ends the search"
        return "writes" if is_writing else found
    if is_writing:
        return "searches"
    return "next file" if after[0] == "row 30" else "scrolls"


def in_list(before: list[str], after: list[str]) -> str:
    """The title with the words that filter the list, the list, a rule, and the preview."""
    if before[0] != after[0]:
        return "filters"
    return "scrolls the preview" if before[-2] != after[-2] else "moves"


def table() -> dict[tuple[str, str], str]:
    """The cells of the table by view and key."""
    lines = PAGE.read_text().split(HEADING)[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    head, _, *body = rows
    return {(view, key): cell for view, *cells in body for key, cell in zip(head[1:], cells, strict=True)}


def test_the_table_has_every_view_and_every_key() -> None:
    assert list(table()) == [(view, key) for view in VIEWS for key in KEYS]


@pytest.mark.parametrize(("view", "key"), [(view, key) for view in VIEWS for key in KEYS])
def test_the_key_does_what_the_table_says(view: str, key: str) -> None:
    assert effect(view, key) == table()[view, key]
