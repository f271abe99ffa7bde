"""What is printed for good, and what is kept of it for whoever wants to see all."""

from robota.clients.tui.scrollback import BLOCKS_KEPT, EARLIER, Scrollback
from robota.clients.tui.theme import Palette, Role, Theme
from robota.clients.view.model import ViewModel


def scrollback() -> Scrollback:
    return Scrollback(Theme(Palette(codes={}, has_colours=False)), lambda: 80, ViewModel)


def test_whoever_wants_to_see_all_is_told_where_the_rest_is() -> None:
    printed = scrollback()
    for number in range(BLOCKS_KEPT):
        printed.tell(f"sentence {number}", Role.DIM)
    assert printed.full_rows()[:2] == ["", "sentence 0"]
    printed.tell("one more", Role.DIM)
    assert printed.full_rows()[:3] == [EARLIER, "", "sentence 1"] and printed.full_rows()[-1] == "one more"


def test_of_a_long_prompt_the_beginning_and_the_end_are_printed_and_all_is_kept() -> None:
    printed = scrollback()
    printed.show_prompt("\n".join(f"line {number}" for number in range(100)))
    rows = printed.take_rows()
    assert rows[1] == "> line 0" and rows[-1] == "  line 99" and len(rows) == 20
    assert rows[13] == "  ... +82 lines (Ctrl+O shows all)"
    assert len(printed.full_rows()) == 101
