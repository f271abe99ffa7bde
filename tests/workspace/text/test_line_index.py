"""Counting lines without splitting a text gives what splitting it would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.text.encoding import lines_of
from robota.workspace.text.line_index import LineIndex

# A hundred lines and more than one step of counting, or a handful.
TEXTS = st.tuples(st.text("ab\n", max_size=12), st.sampled_from([1, 3_000]), st.text("a\n", max_size=2)).map(
    lambda parts: parts[0] * parts[1] + parts[2]
)


@given(TEXTS, st.data())
def test_whatever_was_asked_before_the_answer_is_that_of_the_split_text(text: str, data: st.DataObject) -> None:
    index, lines = LineIndex(text), lines_of(text)
    for _ in range(4):
        first = data.draw(st.integers(0, len(lines)))
        end = data.draw(st.integers(first, min(len(lines), first + 5)))
        assert index.start_of(first) == sum(len(line) + 1 for line in lines[:first])
        assert index.lines(first, end) == lines[first:end]
        position = data.draw(st.integers(0, len(text)))
        assert index.line_at(position) == text.count("\n", 0, position)
        assert index.line_count == len(lines)


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\nb", "\n" * 40_000])
def test_a_line_that_is_not_there_has_no_start(text: str) -> None:
    with pytest.raises(ValueError, match="not among"):
        LineIndex(text).start_of(len(lines_of(text)) + 1)
