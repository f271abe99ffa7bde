"""What an edit changed about the diagnostics, compared line by line."""

from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.code.answer import Finding
from robota.workspace.code.edit_effect import file_effect, moved_lines


def found(*places: tuple[int, str], severity: int = 1) -> tuple[Finding, ...]:
    return tuple(Finding(line, 1, severity, message) for line, message in places)


def test_a_diagnostic_that_only_moved_is_not_new() -> None:
    moved = moved_lines("a\nb\nc\n", "new\na\nb\nc\n")
    effect = file_effect("x.py", found((3, "bad")), found((4, "bad")), moved)
    assert (effect.new, effect.fixed) == ((), 0)


def test_the_same_message_at_another_line_is_new() -> None:
    moved = moved_lines("a\nb\n", "a\nb\nc\n")
    effect = file_effect("x.py", found((1, "bad")), found((1, "bad"), (3, "bad")), moved)
    assert [each.line for each in effect.new] == [3] and effect.fixed == 0


def test_a_line_that_was_edited_and_is_still_wrong_is_neither_new_nor_fixed() -> None:
    moved = moved_lines("a\nb\nc\n", "a\nB\nc\n")
    effect = file_effect("x.py", found((2, "bad")), found((2, "bad")), moved)
    assert (effect.new, effect.fixed) == ((), 0)


def test_hints_do_not_count() -> None:
    effect = file_effect("x.py", (), found((1, "unused"), severity=4), lambda line: line)
    assert effect.new == ()


LINES = st.lists(st.sampled_from(["a", "b", "c"]), max_size=8)


@given(LINES, LINES)
def test_a_moved_line_has_the_same_text(before: list[str], after: list[str]) -> None:
    moved = moved_lines("".join(f"{each}\n" for each in before), "".join(f"{each}\n" for each in after))
    places = [moved(number) for number in range(1, len(before) + 1)]
    known = [each for each in places if each is not None]
    assert all(after[place - 1] == before[number] for number, place in enumerate(places) if place is not None)
    assert known == sorted(set(known)), "no two lines move to one"
