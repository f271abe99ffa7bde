"""Differences: whoever applies one to the old text must get the new text."""

from hypothesis import given
from hypothesis import strategies as st

from robota.protocol.views import DiffView
from robota.tools.editing.diff import difference, difference_by
from robota.workspace.text.line_index import LineIndex
from robota.workspace.text.source import TextSpan

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


@given(TEXTS, st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80), st.sampled_from(["", "x\n", "x\ny\n"]))))
def test_several_changes_at_once_give_the_new_text(old: str, drawn: list[tuple[int, int, str]]) -> None:
    """Changes of whole lines, some side by side and some far apart."""
    starts = [0, *(at + 1 for at, character in enumerate(old) if character == "\n")]
    ends = sorted({min(place, len(starts) - 1) for start, end, _ in drawn for place in (start, end)})
    spans = [
        TextSpan(start=starts[one], end=starts[other], new=new)
        for one, other, (_, _, new) in zip(ends[::2], ends[1::2], drawn, strict=False)
    ]
    new = old
    for span in reversed(spans):
        new = new[: span.start] + span.new + new[span.end :]
    view = difference_by("f", old, LineIndex(old), spans).view
    assert applied(old, view) == new
    shift = 0
    for hunk in view.hunks:
        assert hunk.new_start + (not hunk.new_count) == hunk.old_start + (not hunk.old_count) + shift
        shift += hunk.new_count - hunk.old_count


def test_changes_far_apart_in_a_huge_text_are_two_small_hunks() -> None:
    old = "".join(f"{n}\n" for n in range(600_000))
    end = len(old) - len("599999\n")
    spans = [TextSpan(start=end, end=len(old), new="last\n"), TextSpan(start=0, end=2, new="first\nsecond\n")]
    first, second = difference_by("f", old, LineIndex(old), spans).view.hunks
    assert (first.old_start, first.old_count, first.new_start, first.new_count) == (1, 4, 1, 5)
    assert (second.old_start, second.old_count, second.new_start, second.new_count) == (599_997, 4, 599_998, 4)
