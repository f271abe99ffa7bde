"""Rows with colours: broken where the screen ends, and with words marked."""

from hypothesis import given
from hypothesis import strategies as st

from robota.clients.terminal.width import columns_of
from robota.clients.tui.painted_rows import broken, plain, with_words_marked
from robota.clients.tui.theme import theme_for

THEME = theme_for({})


@given(st.lists(st.sampled_from(["word ", "合計", "\x1b[31m", "\x1b[0m", "\x1b[1;7m", "x" * 30])), st.integers(2, 20))
def test_no_part_is_wider_than_the_screen_and_nothing_is_lost(pieces: list[str], width: int) -> None:
    row = "".join(pieces)
    parts = list(broken(row, width))
    assert "".join(map(plain, parts)) == plain(row)
    assert all(columns_of(plain(part)) <= width for part in parts)


def test_a_colour_goes_on_in_the_next_row() -> None:
    assert list(broken("\x1b[31mabcd\x1b[0mef", 3)) == ["\x1b[31mabc\x1b[0m", "\x1b[31md\x1b[0mef"]


def test_a_line_of_a_diff_goes_on_beside_its_number() -> None:
    row = "    \x1b[2m29 \x1b[0m\x1b[32m+ abcdefgh\x1b[0m"
    assert list(map(plain, broken(row, 12))) == ["    29 + abc", "      defgh"]
    assert list(map(plain, broken(row, 20))) == ["    29 + abcdefgh"]
    assert list(map(plain, broken("    29 + abcdefghijklm", 20))) == ["    29 + abcdefghijk", "         lm"]


def test_words_are_marked_wherever_they_stand() -> None:
    marked = with_words_marked("\x1b[31mOne\x1b[0m two ONE", "one", THEME)
    assert marked == "\x1b[7mOne\x1b[0m two \x1b[7mONE\x1b[0m"
    assert with_words_marked("other", "one", THEME) == "other"
