"""Parsing mentions: what counts as one, and that no character of the prompt is lost."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robota.knowledge.mentions.parsing import (
    CommitMention,
    GitMention,
    GitState,
    LineRange,
    Mention,
    PathMention,
    ProblemsMention,
    PromptText,
    SessionMention,
    TerminalMention,
    UrlMention,
    mention_of_path,
    parse_mentions,
)


def mentions(prompt: str) -> list[Mention]:
    return [piece for piece in parse_mentions(prompt) if not isinstance(piece, PromptText)]


def path(written: str, path: str, first: int = 0, last: int = 0) -> PathMention:
    return PathMention(written=written, path=path, lines=LineRange(first, last) if first else None)


@pytest.mark.parametrize(
    ("prompt", "mention"),
    [
        ("@a.py", path("@a.py", "a.py")),
        ("look at @src/a.py, please", path("@src/a.py", "src/a.py")),
        ("is it @src/a.py?!", path("@src/a.py", "src/a.py")),
        ("(see @src/a.py)", path("@src/a.py", "src/a.py")),
        ("(@src/a.py)", path("@src/a.py", "src/a.py")),
        ("@app/(group)/page(1)", path("@app/(group)/page(1)", "app/(group)/page(1)")),
        ("@a.py:10-40.", path("@a.py:10-40", "a.py", 10, 40)),
        ("@a.py:40-10", path("@a.py:40-10", "a.py", 10, 40)),
        ("@a.py:7", path("@a.py:7", "a.py", 7, 7)),
        ("@a.py:7:12: error", path("@a.py:7:12", "a.py", 7, 7)),
        ("@a.py#L3-L5", path("@a.py#L3-L5", "a.py", 3, 5)),
        ("@src/", path("@src/", "src/")),
        ('@"a b.txt", then', path('@"a b.txt"', "a b.txt")),
        ('@"a b.txt":2-3, then', path('@"a b.txt":2-3', "a b.txt", 2, 3)),
        ('@"a:10"', path('@"a:10"', "a:10")),
        (r"@a\ b.txt and", path(r"@a\ b.txt", "a b.txt")),
        (r"@what\?", path(r"@what\?", "what?")),
        ("@文件。", path("@文件", "文件")),
        ("@git-changes.", GitMention(written="@git-changes", state=GitState.CHANGES)),
        ("@staged", GitMention(written="@staged", state=GitState.STAGED)),
        ("@./staged", path("@./staged", "./staged")),
        ("fix @problems!", ProblemsMention(written="@problems")),
        ("see @terminal.", TerminalMention(written="@terminal")),
        ("as in @session:20260101-ab, yes", SessionMention(written="@session:20260101-ab", session="20260101-ab")),
        (
            "(read @https://a.org/b_(c)?d=e#f).",
            UrlMention(written="@https://a.org/b_(c)?d=e#f", url="https://a.org/b_(c)?d=e#f"),
        ),
        ("@problems/", path("@problems/", "problems/")),
        ("since @1a2b3c4, yes", CommitMention(written="@1a2b3c4", commit="1a2b3c4")),
        ("what did @HEAD~2 do?", CommitMention(written="@HEAD~2", commit="HEAD~2")),
        ("@HEAD^2~1.", CommitMention(written="@HEAD^2~1", commit="HEAD^2~1")),
        ("(since @v1.2.0-rc.1)", CommitMention(written="@v1.2.0-rc.1", commit="v1.2.0-rc.1")),
        ("@HEADER", path("@HEADER", "HEADER")),
        ("@'a b.txt':2, then", path("@'a b.txt':2", "a b.txt", 2, 2)),
        ("@it's.txt", path("@it's.txt", "it's.txt")),
        ("请看（@文件.py），", path("@文件.py", "文件.py")),
        ("「@src/a.py」 を見て", path("@src/a.py", "src/a.py")),
        ("好，@src/a.py。", path("@src/a.py", "src/a.py")),
        ("@defaced", path("@defaced", "defaced")),
        ("@1a2b3c", path("@1a2b3c", "1a2b3c")),
    ],
)
def test_mentions_are_parsed(prompt: str, mention: Mention) -> None:
    assert mentions(prompt) == [mention]


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "@",
        "@ a",
        "@...",
        "mail me@example.com",
        r"not \@a.py",
        "`@a.py`",
        'import "@types/node"',
        "@ftp://example.com/a",
        '@"never ends',
        '@""',
        "@" + "a" * 5_000,
    ],
)
def test_text_that_is_no_mention(prompt: str) -> None:
    assert mentions(prompt) == []


@given(st.text(st.sampled_from('@@ab1/.:-#L"\\ \n()[]?,\0\x1b\ud800文')) | st.text())
@example("@" * 20_000)
@example("@a " * 20_000)
@example("@" + ")" * 1_000)
@example('@"' * 20_000)
@example("@1:1:1:1:1-1:1-1")
def test_the_pieces_joined_are_the_prompt(prompt: str) -> None:
    pieces = parse_mentions(prompt)
    assert "".join(piece.written for piece in pieces) == prompt
    assert all(piece.written for piece in pieces)


@given(st.text(min_size=1, max_size=200).filter(lambda name: not set(name) & set('"\n')))
def test_every_name_on_one_line_can_be_mentioned_in_quotes(name: str) -> None:
    assert mentions(f'See @"{name}".') == [path(f'@"{name}"', name)]


@given(st.lists(st.text("ab1 .:?\"'\\#L@(){}", min_size=1, max_size=6), min_size=1, max_size=3).map("/".join))
def test_a_suggested_mention_names_its_path(path: str) -> None:
    written = mention_of_path(path)
    assert written is not None or '"' in path
    if written is not None:
        (mention,) = mentions(f"see {written} now")
        assert isinstance(mention, PathMention)
        assert mention.path in (path, f"./{path}")
        assert mention.lines is None


@pytest.mark.parametrize(
    ("path", "written"),
    [("a.py", "@a.py"), ("src/", "@src/"), ("a b", '@"a b"'), ("staged", "@./staged"), ("1a2b3c4", "@./1a2b3c4")],
)
def test_a_suggested_mention_is_as_simple_as_possible(path: str, written: str) -> None:
    assert mention_of_path(path) == written
