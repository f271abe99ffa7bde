"""One thing is not called things."""

from robota.text.counted import counted


def test_one_is_singular_and_the_rest_plural() -> None:
    assert [counted(number, "file") for number in (0, 1, 2, 12_345)] == ["0 files", "1 file", "2 files", "12,345 files"]
    assert (counted(1, "entry", "entries"), counted(3, "entry", "entries")) == ("1 entry", "3 entries")
