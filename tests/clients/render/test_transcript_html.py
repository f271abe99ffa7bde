"""The page of a session shows everything and runs nothing, whatever the session holds."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from robota.clients.render.transcript_html import html_of
from robota.clients.render.transcript_markdown import markdown_of
from robota.protocol.transcript import Called, Noted, Prompted, Reasoned, Replied, Transcript, TranscriptHead

ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "dl", "dt", "dd", "section", "div"),
    *("details", "summary", "code", "pre", "span", "p"),
}
NASTY = st.sampled_from(
    [
        "<script>alert(1)</script>",
        "</pre></details><img src=x onerror=alert(1)>",
        '" onmouseover="x',
        "]]>--><svg/onload=x>",
        "\u202etxt.exe",
        "\x1b[2J",
        "javascript:alert(1)",
        "&lt;b&gt;",
        "```\n</details>",
    ]
)
TEXT = st.text(max_size=30) | NASTY
ENTRIES = st.lists(
    st.builds(Prompted, ts=st.just(1), text=TEXT)
    | st.builds(Replied, ts=st.just(1), text=TEXT, interrupted=st.booleans())
    | st.builds(Reasoned, ts=st.just(1), text=TEXT)
    | st.builds(Noted, ts=st.just(1), text=TEXT)
    | st.builds(
        Called,
        ts=st.just(1),
        call_id=TEXT,
        tool=TEXT,
        input=st.dictionaries(TEXT, TEXT, max_size=2),
        status=TEXT,
        output=TEXT,
        diff=st.none() | TEXT,
        depth=st.integers(0, 5),
    ),
    max_size=4,
)


class Page(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@given(TEXT, ENTRIES)
def test_nothing_in_a_session_becomes_markup(title: str, entries: list[Transcript]) -> None:
    page = Page("".join(html_of(TranscriptHead(id="s", title=title, cwd=title), entries)))
    assert page.open == [] and set(page.tags) <= ALLOWED
    assert page.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class"}


@given(TEXT, ENTRIES)
def test_nothing_in_a_session_closes_a_fold_of_the_markdown(title: str, entries: list[Transcript]) -> None:
    text = "".join(markdown_of(TranscriptHead(id="s", title=title), entries))
    assert "\x1b" not in text and "\u202e" not in text
    assert text.count("<details>") == sum(isinstance(entry, Called | Reasoned) for entry in entries)


def test_the_page_needs_nothing_else_and_shows_diffs_in_colour() -> None:
    diff = "@@ -1 +1 @@\n-old\n+new"
    call = Called(ts=1, call_id="c", title="Edit a", tool="Edit", input={"path": "a"}, status="success", diff=diff)
    page = "".join(html_of(TranscriptHead(id="s", title="T"), [call]))
    assert '<span class="add">+new</span>' in page and '<span class="del">-old</span>' in page
    assert "prefers-color-scheme: dark" in page and "default-src 'none'" in page
    assert "http://" not in page and "https://" not in page and "<script" not in page
