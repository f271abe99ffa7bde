"""Differences: whoever applies one to the old text must get the new text."""

from hypothesis import given
from hypothesis import strategies as st

from robota.protocol.views import DiffView
from robota.tools.diff import difference

# Few different lines, so that many are equal and hunks join and part.
TEXTS = st.lists(st.sampled_from(["a", "b", "", "c", "\x0c"]), max_size=40).map(
    lambda lines: "".join(f"{x}\n" for x in lines)
)


def applied(old: str, view: DiffView) -> str:
    before = old.split("\n")[:-1]
    after: list[str] = []
    place = 0
    for hunk in view.hunks:
        start = hunk.old_start - 1 if hunk.old_count else hunk.old_start
        after += before[place:start]
        place = start + hunk.old_count
        assert [line.text for line in hunk.lines if line.kind != "add"] == before[start:place]
        after += [line.text for line in hunk.lines if line.kind != "remove"]
        assert hunk.new_count == sum(line.kind != "remove" for line in hunk.lines)
    return "".join(f"{line}\n" for line in [*after, *before[place:]])


@given(TEXTS, TEXTS)
def test_applying_a_difference_gives_the_new_text(old: str, new: str) -> None:
    view = difference("f", old, new).view
    assert applied(old, view) == new
    assert view.added - view.removed == new.count("\n") - old.count("\n")


@given(TEXTS)
def test_equal_texts_have_no_hunks(text: str) -> None:
    assert difference("f", text, text).unified == ""


def test_two_huge_texts_are_compared_without_care_but_truly() -> None:
    old = "".join(f"{n}\n" for n in range(30_000))
    new = "".join(f"{n}!\n" for n in range(30_000))
    view = difference("f", old, new).view
    assert (view.added, view.removed) == (30_000, 30_000)
    assert applied(old, view) == new


def test_line_numbers_are_those_of_each_side() -> None:
    (hunk,) = difference("f", "1\n2\n3\n", "1\nnew\n2\n3\n").view.hunks
    assert [(line.kind, line.old_line, line.new_line) for line in hunk.lines] == [
        ("context", 1, 1),
        ("add", None, 2),
        ("context", 2, 3),
        ("context", 3, 4),
    ]
