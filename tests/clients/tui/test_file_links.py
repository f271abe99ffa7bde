"""Names of files that are there become links; nothing else of a row changes."""

import pytest

from robota.clients.tui.file_links import no_links, with_file_links
from robota.clients.tui.markdown.blocks import BlockKind, MarkdownBlock
from robota.clients.tui.markdown.render import MarkdownRenderer
from robota.clients.tui.painted_rows import plain
from robota.clients.tui.palettes import ON_DARK
from robota.clients.tui.theme import Theme

FILES = {"src/app.py", "calc.py", "/w/calc.py", "./calc.py", "docs"}


def address(path: str) -> str | None:
    return f"file://box/w/{path}" if path in FILES else None


@pytest.mark.parametrize(
    ("row", "linked"),
    [
        ("\x1b[1mRead calc.py\x1b[0m", ["calc.py"]),
        ("see src/app.py:12, then calc.py.", ["src/app.py:12", "calc.py"]),
        ("./calc.py and /w/calc.py", ["./calc.py", "/w/calc.py"]),
        ("\x1b[36msrc/app.py\x1b[0m and \x1b]8;;https://x.org\x1b\\calc.py\x1b]8;;\x1b\\", ["src/app.py"]),
        ("https://x.org/src/app.py, user@calc.py, other/calc.py, docs", []),
    ],
)
def test_names_of_files_lead_to_them(row: str, linked: list[str]) -> None:
    found = with_file_links(row, address)
    assert plain(found) == plain(row)
    words = [part.partition("\x1b\\")[2].partition("\x1b]8;;")[0] for part in found.split("\x1b]8;;file://")[1:]]
    assert words == linked
    assert with_file_links(row, no_links) == row


@pytest.mark.parametrize(
    ("text", "shown", "leads_to"),
    [
        ("[the page](https://x.org/a)", "the page (https://x.org/a)", "https://x.org/a"),
        ("<https://x.org/a>", "https://x.org/a", "https://x.org/a"),
        ("[the sum](src/app.py)", "the sum (src/app.py)", "file://box/w/src/app.py"),
        ("[keys](vbscript-x:run)", "keys (vbscript-x:run)", None),
    ],
)
def test_a_link_of_an_answer_shows_where_it_leads(text: str, shown: str, leads_to: str | None) -> None:
    (row,) = MarkdownRenderer(Theme(ON_DARK), address).rows(MarkdownBlock(text=text, kind=BlockKind.TEXT), 80)
    assert plain(row) == shown
    assert (f";{leads_to}\x1b\\" in row) if leads_to else ("\x1b]8;" not in row)
