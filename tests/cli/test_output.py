"""Tables as wide as the terminal."""

from hypothesis import given
from hypothesis import strategies as st

from robota.cli.output import in_columns


def test_in_a_pipe_every_row_is_one_line() -> None:
    rows = [("id", "what it does"), ("longer", "x " * 100)]
    assert in_columns(rows, None) == ["id      what it does", ("longer  " + "x " * 100).rstrip()]


def test_on_a_terminal_the_last_column_is_broken_between_words_and_stays_a_column() -> None:
    assert in_columns([("a", "one two three four five six seven")], 30) == [
        "a  one two three four five",
        "   six seven",
    ]


@given(st.lists(st.tuples(st.text("ab", max_size=9), st.text("ab ", max_size=90)), min_size=1), st.integers(1, 120))
def test_no_word_is_lost(rows: list[tuple[str, str]], width: int) -> None:
    shown = " ".join(in_columns(rows, width)).split()
    assert "".join(shown) == "".join("".join(cell.split()) for row in rows for cell in row)
