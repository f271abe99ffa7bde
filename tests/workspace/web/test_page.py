"""Bodies as text, and HTML as Markdown."""

import asyncio

import pytest

from robota.workspace.web.markdown import to_markdown
from robota.workspace.web.page import is_text, readable

URL = "https://example.com/docs/page"

CONVERSIONS = {
    "headings": ("<h1>One <b>big</b></h1><h3>Two</h3>", "# One **big**\n\n### Two"),
    "paragraphs": ("<p>a\n  b</p><p>c<br>d</p>", "a b\n\nc\nd"),
    "links": ('<a href="/x y">go</a> <a href="#top">up</a>', "[go](https://example.com/x%20y) up"),
    "unsafe links": ('<a href="javascript:x()">a</a> <a href="data:text/html,x">b</a>', "a b"),
    "a link around blocks": ('<a href="other"><h2>T</h2></a>', "## T\n\n(https://example.com/docs/other)"),
    "emphasis": ("a<em> b </em>c <code>d</code><s>e</s><i></i>", "a *b* c `d`~~e~~"),
    "images": ('<img alt="Cat" src="c.png"><img src="d.png">', "![Cat](https://example.com/docs/c.png)"),
    "lists": ("<ul><li>a<ol><li>b<li>c</ol><li><p>d</p></ul>", "- a\n  1. b\n  2. c\n- d"),
    "quotations": ("<blockquote><p>a<p>b</blockquote>", "> a\n>\n> b"),
    "code": (
        '<pre><code class="language-py">if x:\n    y = "<b>"\n</code></pre>'.replace("<b>", "&lt;b&gt;"),
        '```py\nif x:\n    y = "<b>"\n```',
    ),
    "code with a fence": ("<pre>```\nx</pre>", "````\n```\nx\n````"),
    "tables": (
        "<table><tr><th>a<th>b|c</tr><tr><td><p>1</p><td>2<br>3<tr><td>4</table>",
        "| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |\n| 4 |  |",
    ),
    "layout tables": ("<table><tr><td>a<table><tr><td>b</table></table>", "a\n\n| b |\n| --- |"),
    "invisible parts": ("<script>x</script><style>y</style><p>z<!-- w --><svg><text>v</text></svg></p>", "z"),
    "entities": ("&lt;p&gt; &amp; &eacute;&nbsp;&#x1f600;", "<p> & é\xa0😀"),
    "unclosed tags": ("<p>a<b>b<p>c", "a**b**\n\n**c**"),
    "rules": ("a<hr>b", "a\n\n---\n\nb"),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_html_becomes_markdown(name: str) -> None:
    html, markdown = CONVERSIONS[name]
    assert to_markdown(f"<body>{html}</body>", URL) == markdown


def test_the_title_comes_first_and_the_main_part_is_enough() -> None:
    page = "<title> A  page </title><body><nav>menu</nav><main><p>text</p></main><footer>end</footer>"
    assert to_markdown(page, URL) == "Title: A page\n\ntext"


def test_pages_nested_deeper_than_the_stack_are_converted() -> None:
    assert to_markdown("<div>" * 5000 + "x", URL) == "x"
    assert to_markdown("<blockquote>" * 500 + "x", URL).endswith("> x")


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/html; charset=utf-8", True),
        ("TEXT/Plain", True),
        ("application/json", True),
        ("application/ld+json", True),
        ("application/atom+xml", True),
        ("", True),
        ("application/pdf", False),
        ("image/png", False),
        ("application/octet-stream", False),
    ],
)
def test_only_text_is_read(content_type: str, expected: bool) -> None:
    assert is_text(content_type) is expected


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("é".encode(), "text/plain", "é"),
        (b"\xe9", "text/plain; charset=ISO-8859-1", "é"),
        (b"\xe9", 'text/plain; charset="latin-1"', "é"),
        ("é".encode("utf-16"), "text/plain", "é"),
        (b"\xe9x", "text/plain", "\ufffdx"),
        (b"x", "text/plain; charset=klingon", "x"),
        (b"x", "text/plain; charset=zlib", "x"),
        (b'{"a": 1}\r\n', "application/json", '{"a": 1}'),
        (b"<p>raw</p>", "text/plain", "<p>raw</p>"),
        (b"<!DOCTYPE html><p>a <b>b</b>", "", "a **b**"),
        (b'<meta charset="windows-1252"><p>\x93q\x94', "text/html", "“q”"),
        (b"\x89PNG\0\0", "", None),
        (b"x", "image/png", None),
    ],
)
def test_bodies_are_decoded_by_what_they_say_of_themselves(body: bytes, content_type: str, text: str | None) -> None:
    assert asyncio.run(readable(body, content_type, URL)) == text


def test_what_a_reader_would_not_see_is_gone() -> None:
    """Escape sequences, direction marks, tag characters."""
    body = "a\x1b]52;c;eA==\x07b\x9bc\u202ed\U000e0041e\tf\ng".encode()
    assert asyncio.run(readable(body, "text/plain", URL)) == "a]52;c;eA==bcde\tf\ng"


def test_a_page_that_cannot_be_converted_comes_as_it_is() -> None:
    """A million open elements take a parser hours; its process is stopped."""
    html = b"<div>" * 1_000_000
    text = asyncio.run(readable(html, "text/html", URL, conversion_s=0.5))
    assert text is not None and "could not be turned into Markdown" in text
