"""Letters of several characters: where the cursor may stand, and what Backspace deletes."""

import pytest

from robota.clients.terminal.width import letter_end, letter_start

WOMAN, JOINER, LAPTOP = "\U0001f469", "\u200d", "\U0001f4bb"
D, E, F = "\U0001f1e9", "\U0001f1ea", "\U0001f1eb"


@pytest.mark.parametrize(
    "letters",
    [
        ["a", "b"],
        ["x", "e\u0301", "y"],  # an accent of its own
        ["\U0001f44d\U0001f3fd", "!"],  # a thumb with a skin tone
        [WOMAN + JOINER + LAPTOP, "中", "文"],
        ["\u270c\ufe0f", "k"],  # drawn as an emoji
        [D + E, F + D, E],  # two flags and half of one
        ["a", "\n", "\u0301b"],  # an accent at the beginning of a line is on nothing
        ["\u0301", "b"],
    ],
)
def test_a_letter_is_passed_whole_in_both_directions(letters: list[str]) -> None:
    text = "".join(letters)
    edges = [sum(map(len, letters[:count])) for count in range(len(letters) + 1)]
    if "\n" not in text:
        assert [letter_end(text, start) for start in edges[:-1]] == edges[1:]
        assert [letter_start(text, end) for end in edges[1:]] == edges[:-1]
    assert letter_end("a\n\u0301b", 1) == 2
    assert letter_start("", 0) == letter_end("", 0) == 0
