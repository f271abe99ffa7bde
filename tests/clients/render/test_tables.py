"""Tables for people: columns line up, and no line is broken in the middle of a word."""

from robota.clients.render.view_lines import whole_view
from robota.protocol.views import TableView


def lines(width: int | None, *rows: tuple[str, str]) -> list[str]:
    return [line.text for line in whole_view(TableView(columns=("command", "what it does"), rows=rows), width=width)]


def test_columns_line_up_for_wide_characters_too() -> None:
    assert lines(None, ("/漢", "x"), ("/long", "y"), ("/e\x1b", "z")) == [
        "    command     what it does",
        "    /漢         x",
        "    /long       y",
        "    /e‹U+001B›  z",
    ]


def test_the_last_column_goes_on_beneath_itself() -> None:
    assert lines(30, ("/a", "one two three four")) == [
        "    command  what it does",
        "    /a       one two three",
        "             four",
    ]


def test_a_cell_that_is_too_wide_has_a_line_for_itself() -> None:
    wide = "restore N|--call CALL [--files|--conversation]"
    assert lines(None, (wide, "go back"), ("/a", "x"))[1:] == [
        f"    {wide}",
        " " * 38 + "go back",
        "    /a" + " " * 32 + "x",
    ]
