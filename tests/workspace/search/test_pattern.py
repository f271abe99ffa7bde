"""Glob patterns for paths."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.search.pattern import InvalidPattern, PathPattern

MATCHES = [
    ("*.py", "a.py", True),
    ("*.py", "deep/down/a.py", True),
    ("./*.py", "a.py", True),
    ("./*.py", "deep/a.py", False),
    ("/src/*.py", "src/a.py", True),
    ("src/*.py", "src/a.py", True),
    ("src/*.py", "src/deep/a.py", False),
    ("src/*.py", "other/src/a.py", False),
    ("src/**/*.py", "src/a.py", True),
    ("src/**/*.py", "src/x/y/a.py", True),
    ("**/test_*.py", "test_a.py", True),
    ("**/a/**/b", "x/a/b", True),
    ("**/a/**/b", "x/a/y/a/z/b", True),
    ("**/a/**/b", "x/a/y/c", False),
    ("src/**", "src/a/b", True),
    ("src/", "src/a/b", True),
    ("src/", "srcs/a", False),
    ("*.{ts,tsx}", "a.tsx", True),
    ("*.{ts,tsx}", "a.jsx", False),
    ("{src,lib}/**/*.{c,h}", "lib/x/a.h", True),
    ("{a,b{c,d}}.txt", "bd.txt", True),
    ("{a,b{c,d}}.txt", "b.txt", False),
    ("[ab].txt", "b.txt", True),
    ("[!ab].txt", "c.txt", True),
    ("[!ab].txt", "a.txt", False),
    ("app/[slug]/page.tsx", "app/[slug]/page.tsx", True),
    ("a?c", "abc", True),
    ("a?c", "a/c", False),
    ("*", "a\nb", True),
    ("A.py", "a.py", False),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), MATCHES)
def test_what_a_pattern_means(pattern: str, path: str, expected: bool) -> None:
    assert PathPattern(pattern).matches(path) is expected


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("", "1 to 1000"),
        ("  ", "1 to 1000"),
        ("x" * 1001, "1 to 1000"),
        ("a\nb", "visible"),
        ("{a,b", "'{' is not closed"),
        ("[ab", r"'\[' is not closed"),
        ("../*.py", r"'\.\.'"),
        ("a/{../b,c}", r"'\.\.'"),
        ("/", "empty"),
        ("{,a}", "empty"),
        ("{a,b}" * 10, "more than 100 patterns"),
        ("{" * 20 + "a" + "}" * 20, "nested more than 10"),
    ],
)
def test_a_pattern_that_means_nothing_is_an_error(pattern: str, problem: str) -> None:
    """Braces that would expand to an enormous list are refused before they are expanded."""
    with pytest.raises(InvalidPattern, match=problem):
        PathPattern(pattern)


@pytest.mark.parametrize("pattern", ["*a" * 200 + "b", "**/" * 200 + "b", "**/*a*/" * 50 + "b"])
def test_hard_patterns_do_not_take_for_ever(pattern: str) -> None:
    """A backtracking matcher would not return from these."""
    assert not PathPattern(pattern).matches("/".join(["a" * 250] * 60))


@given(
    st.lists(st.sampled_from(["*", "?", "a", "b", "ab", "*b"]), min_size=1, max_size=4),
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_segments_match_one_to_one_like_names(segments: list[str], parts: list[str]) -> None:
    expected = len(segments) == len(parts) and all(map(fnmatchcase, parts, segments))
    assert PathPattern("./" + "/".join(segments)).matches("/".join(parts)) is expected


@given(
    st.lists(st.sampled_from(["**", "a", "b", "*"]), min_size=2, max_size=6),
    st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=6),
)
def test_two_stars_stand_for_any_number_of_directories(segments: list[str], parts: list[str]) -> None:
    assert PathPattern("/".join(segments)).matches("/".join(parts)) is slowly_matches(segments, parts)


def slowly_matches(segments: list[str], parts: list[str]) -> bool:
    if not segments:
        return not parts
    if segments[0] == "**":
        return any(slowly_matches(segments[1:], parts[taken:]) for taken in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], segments[0]) and slowly_matches(segments[1:], parts[1:])
