"""Markdown as HTML for the page: the same however it arrives, and nothing in it can run, load or style."""

import re

from hypothesis import given
from hypothesis import strategies as st

from robota.clients.web.markdown_html import GrowingMarkdown, blocks_of

WORDS = st.sampled_from(
    [
        *(
            "word",
            " ",
            "\n",
            "\n\n",
            "# Title\n",
            "- item\n",
            "  more\n",
            "> quoted\n",
            "```python\n",
            "def f():\n",
            "```\n",
        ),
        *(
            "| a | b |\n|---|---|\n",
            "**bold**",
            "`code`",
            "[link](https://example.com)",
            "1. one\n",
            "    code\n",
            "---\n",
        ),
        *(
            "<script>alert(1)</script>",
            "<b>",
            "[x](javascript:alert(1))",
            "![i](https://example.com/i.png)",
            "&lt;",
            "===\n",
        ),
    ]
)


@given(st.lists(WORDS, max_size=40), st.lists(st.integers(1, 9), max_size=30))
def test_a_text_that_arrives_in_pieces_ends_as_the_whole_text(words: list[str], sizes: list[int]) -> None:
    text, growing, at = "".join(words), GrowingMarkdown(), 0
    for size in sizes:
        growing.add(text[at : at + size])
        at += size
        growing.last_block()
    growing.add(text[at:])
    last = growing.last_block()
    assert (*growing.settled, *filter(None, (last,))) == blocks_of(text)


@given(st.lists(WORDS | st.text(max_size=12), max_size=20))
def test_only_formatting_is_left(words: list[str]) -> None:
    html = "".join(blocks_of("".join(words)))
    tags = set(re.findall(r"<\s*/?\s*([a-zA-Z!?][^\s>/]*)", html))
    assert not tags & {"script", "iframe", "img", "svg", "style", "link", "object", "form", "input", "b"}
    assert not re.search(r"<[^>]*\s(?:on\w+|style|src|id)\s*=", html)
    assert all(url.startswith(("http", "mailto:")) for url in re.findall(r'href="([^"]*)"', html) if ":" in url)


def test_a_long_list_of_blocks_is_rendered_once_each() -> None:
    """The work for each piece does not grow with the text before it."""
    growing = GrowingMarkdown()
    for number in range(200):
        growing.add(f"Paragraph {number}.\n\n")
        growing.last_block()
        assert len(growing.settled) == number
    assert growing.last_block() == "<p>Paragraph 199.</p>\n"
