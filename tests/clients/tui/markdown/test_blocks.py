"""A stream of Markdown is cut into the same blocks however it comes, and nothing of it is lost."""

from hypothesis import given
from hypothesis import strategies as st

from robota.clients.tui.markdown.answer import StreamedAnswer
from robota.clients.tui.markdown.blocks import MAX_TEXT_LENGTH, BlockStream, MarkdownBlock
from robota.clients.tui.palettes import theme_for

TEXT = """\
# Head
Some text
over two lines.

- one
- two

  more of two
- three
```python
x = 1

y = 2
```
| a | b |
|---|---|
| 1 | 2 |

The end"""


def blocks(*pieces: str) -> list[MarkdownBlock]:
    stream = BlockStream()
    found = [block for piece in pieces for block in stream.feed(piece)]
    return found + stream.finish()


def test_the_blocks_of_a_text() -> None:
    assert [block.text for block in blocks(TEXT)] == [
        "# Head",
        "Some text\nover two lines.",
        "- one",
        "- two\n\n  more of two",
        "- three",
        "```python\nx = 1\n\ny = 2\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "The end",
    ]
    assert [block.has_gap for block in blocks(TEXT)] == [False, False, True, False, False, False, False, True]


def test_an_underlined_line_is_a_heading_and_a_rule_below_an_item_is_none() -> None:
    assert [block.text for block in blocks("Sub\n---\nmore\n\nTop\n===\n- item\n---\n")] == [
        "Sub\n---",
        "more",
        "Top\n===",
        "- item",
        "---",
    ]


def test_a_dash_below_a_paragraph_is_not_drawn_before_it_is_known_what_it_begins() -> None:
    stream = BlockStream()
    stream.feed("Steps:\n-")
    assert stream.tail is not None and stream.tail.text == "Steps:"
    stream.feed(" one")
    assert stream.tail is not None and stream.tail.text == "Steps:\n- one"


@given(st.lists(st.sampled_from([*"ab \n|`#->*1.", "```", "- ", "\n\n", "| a |\n"]), max_size=60), st.integers(1, 7))
def test_the_pieces_it_comes_in_change_nothing(parts: list[str], size: int) -> None:
    text = "".join(parts)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert blocks(*pieces) == blocks(text)
    words = [line for block in blocks(text) for line in block.text.split("\n") if line.strip()]
    assert words == [line for line in text.split("\n") if line.strip()]


def test_what_is_drawn_again_stays_small_however_long_the_answer() -> None:
    stream = BlockStream()
    for _ in range(3000):
        stream.feed("word word ")
        assert stream.tail is None or len(stream.tail.text) <= MAX_TEXT_LENGTH + 10
    stream = BlockStream()
    stream.feed("```\n")
    for number in range(3000):
        stream.feed(f"line {number}\n{'' if number % 5 else chr(10)}")
        assert stream.tail is None or stream.tail.text.count("\n") < 50


def test_control_sequences_are_shown_and_steer_nothing() -> None:
    answer = StreamedAnswer(theme_for({"NO_COLOR": "1"}))
    rows = answer.feed("clear \x1b[2J me\n\n", 40) + answer.finish(40)
    assert rows == ["clear ‹U+001B›[2J me"]


def test_a_table_is_shown_when_it_is_whole() -> None:
    answer = StreamedAnswer(theme_for({"NO_COLOR": "1"}))
    answer.feed("| a | b |\n|---|---|\n| 1 |", 40)
    assert answer.tail(40) == ["\x1b[2m(a table, 3 rows so far)\x1b[0m"]
    shown = "\n".join(answer.feed(" 2 |\n\n", 40))
    assert all(cell in shown for cell in "ab12")


def test_no_letter_of_a_table_is_cut_off() -> None:
    answer = StreamedAnswer(theme_for({"NO_COLOR": "1"}))
    names = ("disableBypassPermissionsMode", "extraKnownMarketplaces", "generativelanguage")
    shown = answer.feed(f"| {' | '.join(names)} |\n|---|---|---|\n| {' | '.join(names)} |\n\n", 40)
    letters = [sum(row.count(letter) for row in shown) for letter in "BMkg"]
    assert letters == [2 * sum(name.count(letter) for name in names) for letter in "BMkg"]
    assert max(map(len, shown)) <= 40
