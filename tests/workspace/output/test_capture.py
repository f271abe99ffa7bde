"""Output that was meant for a terminal, as a model reads it."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robota.workspace.output.capture import MAX_OPEN_CHARACTERS, OutputCapture, TerminalText, plain_terminal_text


@pytest.mark.parametrize(
    ("printed", "read"),
    [
        ("plain\ntext", "plain\ntext"),
        ("\x1b[1;31merror\x1b[0m: no\n", "error: no\n"),
        ("\x1b]0;title\x07\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
        ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        ("downloading\rdone\n", "doneloading\n"),
        ("downloading\r\x1b[Kdone\n", "done\n"),
        ("downloading\x1b[2K\rdone\n", "done\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("|\b/\b-\b\\\bok\n", "ok\n"),
        ("N\bNA\bAM\bME\bE\n", "NAME\n"),
        ("a\x1b(Bb\x1b=c\x07\n", "abc\n"),
        ("cut \x1b[3", "cut "),
        ("\ttab\n", "\ttab\n"),
    ],
)
def test_what_is_left_to_read(printed: str, read: str) -> None:
    assert plain_terminal_text(printed) == read


@given(st.text(alphabet="ab\r\n\b\x1b[0K1m]\x07", max_size=60), st.integers(1, 7))
def test_pieces_make_no_difference(printed: str, size: int) -> None:
    reader = TerminalText()
    settled = "".join(reader.add(printed[at : at + size]) for at in range(0, len(printed), size))
    assert settled + reader.finish() == plain_terminal_text(printed)


written = st.sampled_from(
    ["ab", "é", "x" * 2_100, "y" * 3_000, "\r", "\b\b", "\x1b[K", "\x1b[2K", "\x1b[31m", "\x07", "\n"]
)


@given(st.lists(written, max_size=9).map("".join), st.lists(st.integers(0, 9_999), max_size=6))
@example("y" * 3_000 + "\rab" + "x" * 2_100, [4_500])
def test_a_long_line_that_is_overwritten_may_be_cut_anywhere(printed: str, places: list[int]) -> None:
    cuts = [0, *sorted(place % (len(printed) + 1) for place in places), len(printed)]
    reader = TerminalText()
    settled = "".join(reader.add(printed[start:end]) for start, end in pairwise(cuts))
    assert settled + reader.finish() == plain_terminal_text(printed)


def test_an_endless_line_shows_no_control_characters() -> None:
    reader = TerminalText()
    assert reader.add("x" * MAX_OPEN_CHARACTERS + "\x1b[31mred\ry") == "y" + "x" * (MAX_OPEN_CHARACTERS - 1) + "red"


def test_a_progress_bar_costs_one_line() -> None:
    """It cost 30,000 characters."""
    capture = OutputCapture("unused")
    for percent in range(100_000):
        capture.add(f"\rbuilding {percent:6d} of 100000".encode())
    assert capture.text.head == "building  99999 of 100000"
    capture.add(b"\ndone\n")
    capture.finish()
    assert (capture.text.head, capture.text.tail) == ("building  99999 of 100000\ndone\n", "")
    capture.discard()


def test_a_line_without_an_end_is_not_held_back_for_ever() -> None:
    reader = TerminalText()
    long = "x" * (MAX_OPEN_CHARACTERS + 1)
    assert reader.add(long) == long
    assert reader.open_line == ""


def test_erasing_the_rest_of_a_line_keeps_its_beginning() -> None:
    """grep marks its matches like this."""
    assert plain_terminal_text("a.py:\x1b[01;31m\x1b[Kneedle\x1b[m\x1b[K = 1\n") == "a.py:needle = 1\n"
