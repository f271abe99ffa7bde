"""Rows with colours: broken where the screen ends, and with words marked."""

from hypothesis import given
from hypothesis import strategies as st

from robota.clients.terminal.width import columns_of
from robota.clients.tui.painted_rows import plain, with_words_marked, wrap_row
from robota.clients.tui.palettes import theme_for

THEME = theme_for({})


@given(
    st.lists(st.sampled_from(["word ", " ", "29 + ", "合計", "\x1b[31m", "\x1b[0m", "\x1b[1;7m", "x" * 30])),
    st.integers(2, 20),
)
def test_no_part_is_wider_than_the_screen_and_nothing_is_lost(pieces: list[str], width: int) -> None:
    row = "".join(pieces)
    parts = list(map(plain, wrap_row(row, width)))
    assert "".join("".join(parts).split()) == "".join(plain(row).split())
    assert all(columns_of(part) <= width for part in parts)


def test_a_colour_goes_on_in_the_next_row() -> None:
    assert list(wrap_row("\x1b[31mabcd\x1b[0mef", 3)) == ["\x1b[31mabc\x1b[0m", "\x1b[31md\x1b[0mef"]


def test_words_stay_whole_where_they_can() -> None:
    assert list(wrap_row("  one two three four", 12, keeps_words=True)) == ["  one two ", "  three four"]
    red = ["one \x1b[31mtwo \x1b[0m", "\x1b[31mthree\x1b[0m ", "four"]
    assert list(wrap_row("one \x1b[31mtwo three\x1b[0m four", 9, keeps_words=True)) == red
    assert list(wrap_row("a bcdefghijkl", 8, keeps_words=True)) == ["a bcdefg", "hijkl"]


def test_a_line_of_a_diff_goes_on_beside_its_number() -> None:
    row = "    \x1b[2m29 \x1b[0m\x1b[32m+ abcdefgh\x1b[0m"
    assert list(map(plain, wrap_row(row, 12))) == ["    29 + abc", "      defgh"]
    assert list(map(plain, wrap_row(row, 20))) == ["    29 + abcdefgh"]
    assert list(map(plain, wrap_row("    29 + abcdefghijklm", 20))) == ["    29 + abcdefghijk", "         lm"]


def test_words_are_marked_wherever_they_stand() -> None:
    marked = with_words_marked("\x1b[31mOne\x1b[0m two ONE", "one", THEME)
    assert marked == "\x1b[7mOne\x1b[0m two \x1b[7mONE\x1b[0m"
    assert with_words_marked("other", "one", THEME) == "other"
