"""A diff as it is looked at: tinted rows, colours of code, changed words, folded parts, two sides in a wide window."""

import pytest

from robota.clients.terminal.width import columns_of
from robota.clients.tui.colours import ColourDepth
from robota.clients.tui.pages.contents import diff_page
from robota.clients.tui.painted_rows import FILL, filled, plain
from robota.clients.tui.palettes import theme_for
from robota.clients.tui.theme import Palette, Role, Theme
from robota.clients.tui.widgets.changed_words import changed_spans
from robota.clients.tui.widgets.diff_rows import diff_text
from robota.protocol.unified_diff import files_in
from robota.protocol.views import DiffView

MANY = theme_for({"TERM": "xterm-256color", "COLORTERM": "truecolor"})
FEW = theme_for({"TERM": "xterm"})
NONE = Theme(Palette(codes={}, depth=ColourDepth.NONE))
ADDED, REMOVED = "48;2;18;48;29", "48;2;61;22;25"
TEXT = """\
--- a/src/shop.py
+++ b/src/shop.py
@@ -8,4 +8,5 @@
     result = 0
     for price in prices:
-        result -= price
+        result += price  # sum
+        print("x")
     return result
@@ -40,2 +41,2 @@
-TAX = 19
+TAX = 20
 END = True
"""


def diff(text: str = TEXT) -> DiffView:
    (view,) = files_in(f"diff --git a/x b/x\n{text}")
    return view


def rows(width: int = 80, theme: Theme = NONE) -> list[str]:
    return list(diff_text(diff(), theme, width, is_whole=True))


def test_unchanged_parts_are_folded_and_counted() -> None:
    assert rows() == [
        "    src/shop.py  +3 -2",
        "     … 7 unchanged lines",
        "     8       result = 0",
        "     9       for price in prices:",
        "    10 -         result -= price",
        "    10 +         result += price  # sum",
        '    11 +         print("x")',
        "    12       return result",
        "     … 28 unchanged lines",
        "    40 - TAX = 19",
        "    41 + TAX = 20",
        "    42   END = True",
    ]


def test_changed_rows_are_tinted_to_the_end_and_code_has_its_colours() -> None:
    painted = rows(theme=MANY)
    assert [plain(row).rstrip() for row in painted] == rows()
    for row, tint in ((painted[4], REMOVED), (painted[5], ADDED)):
        assert row.count(tint) > 2 and row.endswith(f"\x1b[{tint}m{FILL}\x1b[0m")
        assert columns_of(plain(filled(row, 80))) == 80
    keyword, comment, words = "38;2;211;182;255", "38;2;180;189;201", "48;2;23;85;46"
    assert f"\x1b[{keyword}mfor\x1b[0m" in painted[3]
    assert f"\x1b[{words};{comment}m# sum\x1b[0m" in painted[5]  # what the other line lacks is marked
    assert f"\x1b[{words}m+\x1b[0m" in painted[5] and f"\x1b[{ADDED}mresult" in painted[5].replace("m        r", "mr")
    assert FILL not in painted[3]


def test_few_colours_tell_the_rows_apart_by_their_text() -> None:
    painted = list(diff_text(diff(), FEW, 80))
    assert "\x1b[31m-" in painted[4] and "\x1b[32;7m+" in painted[5] and not any(FILL in row for row in painted)


@pytest.mark.parametrize("width", [140, 200])
def test_in_a_wide_window_the_two_sides_stand_beside_one_another(width: int) -> None:
    shown = rows(width)
    half = (width - 4 - 2) // 2
    (changed,) = [row for row in shown if "result -= price" in row]
    assert changed[4 : 4 + half].rstrip() == "10 -         result -= price"
    assert changed[4 + half + 2 :] == "10 +         result += price  # sum"
    (unchanged,) = [row for row in shown if "return result" in row]
    assert unchanged.count("return result") == 2 and unchanged.index("11   ") < unchanged.index("12   ")
    assert max(columns_of(plain(filled(row, width))) for row in rows(width, MANY)) <= width
    only_new = diff("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,1 @@\n+x = 1\n")
    assert list(diff_text(only_new, NONE, width))[1:] == ["    1 + x = 1"]


def test_a_long_line_stays_beside_its_number_and_keeps_its_tint() -> None:
    long = diff(f"--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-short\n+{'words ' * 20}\n")
    shown = [filled(row, 40) for row in diff_text(long, MANY, 40)]
    assert max(columns_of(plain(row)) for row in shown) <= 40
    assert all(row.count(ADDED) >= 2 for row in shown[2:]) and plain(shown[3]).startswith(" " * 8)


def test_words_are_marked_only_in_lines_that_are_alike() -> None:
    assert changed_spans("result -= price", "result += price") == [(7, 8)]
    assert changed_spans("total(prices)", "total(all_prices)") == [(6, 12)]
    assert not changed_spans("one two three", "entirely different")
    assert not changed_spans("x" * 2000, "x" * 1999 + "y")


class CountingTheme(Theme):
    """Counts what is painted."""

    painted = 0

    def paint(self, text: str, role: Role = Role.PLAIN, on: Role = Role.PLAIN) -> str:
        self.painted += 1
        return super().paint(text, role, on)


def test_only_what_is_shown_of_a_large_diff_is_painted() -> None:
    lines = "".join(f'+    "package-{n}": "^{n}.0.0",\n' for n in range(20_000))
    theme = CountingTheme(MANY.palette)
    page = diff_page([diff(f"--- /dev/null\n+++ b/lock.json\n@@ -0,0 +1,20000 @@\n{lines}")], theme)
    first = page.rows(120, 40)
    assert page.press("G")
    last = page.rows(120, 40)
    assert "package-0" in "".join(map(plain, first)) and "package-19999" in "".join(map(plain, last))
    assert theme.painted < 2_000
