"""What the shell would put in the place of a pattern; bash itself is asked."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from robota.workspace.shell.expansion import ANYTHING, files_matching

NAMES = ("a", "ab", "b.py", "-x", "[z]", "sub/a", "sub/-y", "sub/c.py", ".hidden", "sub/.git", "5", "é")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Also the name of the directory looks like a pattern."""
    directory = tmp_path_factory.mktemp("expansion") / "root[ab]*"
    for name in NAMES:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return directory


def in_bash(place: Path, pattern: str) -> set[str]:
    """In either language: with one a sign stands for a character, without one for a byte."""
    script = f"shopt -s nullglob; printf '%s\\0' {pattern}"
    found: set[str] = set()
    for language in ("C", "C.UTF-8"):
        env = {"PATH": os.defpath, "LC_ALL": language}
        done = subprocess.run(["/bin/bash", "-c", script], cwd=place, env=env, capture_output=True, check=True)
        found |= {str(place / name) for name in done.stdout.decode().split("\0") if name}
    return found


@settings(max_examples=60, deadline=None)
@example(["?", "?"])
@example(["?"])
@given(
    st.lists(st.sampled_from(["*", "?", "[a-c]", "[!a]", "[^a]", "a", "b", "sub", "/", ".py", "-", "5"]), min_size=1)
)
def test_it_finds_what_bash_finds(place: Path, pieces: list[str]) -> None:
    pattern = "".join(pieces)
    if pattern.startswith("/") or not set(pattern) & set("*?["):
        return
    expected = in_bash(place, pattern)
    found = {str(Path(path)) for path in files_matching(str(place), pattern)}
    assert found == {str(Path(path)) for path in expected}


def test_absolute_patterns_begin_at_the_root(place: Path) -> None:
    assert "/etc" in files_matching(str(place), "/et*")


@pytest.mark.parametrize("pattern", ["[[:alpha:]]*", "a\\*", "[[.a.]]"])
def test_a_pattern_that_is_too_strange_may_be_anything(place: Path, pattern: str) -> None:
    assert files_matching(str(place), pattern) == ANYTHING


def test_a_directory_that_cannot_be_read_holds_nothing(place: Path) -> None:
    assert files_matching(str(place), "missing/*") == ()
    assert files_matching(str(place), "a/*") == ()
