"""Patterns of ignore files: the same answers as git, and no pattern that takes long."""

import os
import subprocess
from pathlib import Path
from random import Random

import pytest

from robota.workspace.files.files import LocalFiles
from robota.workspace.files.gitignore import MAX_PATTERNS, GitIgnore
from robota.workspace.files.ignore import IgnoreFiles
from robota.workspace.problems import Ignored

PIECES = ["a", "b", "ab", "*", "**", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "\\*", ".a", "a.b", "*.b", "[]a]", " "]
NAMES = ["a", "b", "c", "ab", "abc", "a.b", ".a", "*", "ba", "aab", "[", "]", "a b"]
EXAMPLES = 25


def pattern(random: Random) -> str:
    parts = ["".join(random.choices(PIECES, k=random.randint(1, 3))) for _ in range(random.randint(1, 3))]
    return (
        random.choice(["", "", "", "!"])
        + random.choice(["", "", "/"])
        + "/".join(parts)
        + random.choice(["", "", "/", " "])
    )


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_it_says_what_git_says(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    (tmp_path / ".gitignore").write_text("".join(f"{pattern(random)}\n" for _ in range(random.randint(1, 6))))
    paths = ["/".join(random.choices(NAMES, k=random.randint(1, 4))) for _ in range(60)]
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    said = subprocess.run(
        ["git", "-C", tmp_path, "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join(paths).encode(),
        capture_output=True,
        check=False,
    ).stdout.decode()
    rules = IgnoreFiles(tmp_path, ".gitignore")
    ours = [path for path in paths if rules.match(tuple(path.split("/")))]
    assert ours == [path for path in paths if path in set(said.split("\0"))], (tmp_path / ".gitignore").read_text()


@pytest.mark.parametrize(
    "rule", ["*a" * 14 + "b", "*a" * 400 + "b", "**/" * 200 + "b", "a/**/" * 150 + "b", "[ab]*" * 150]
)
def test_no_pattern_makes_a_long_name_take_long(tmp_path: Path, rule: str) -> None:
    """A matcher that backtracks would not end."""
    files = LocalFiles(tmp_path)
    (tmp_path / ".robotaignore").write_text(f"{rule}\n")
    deep = "a/" * 100 + "a"
    for path in ("a" * 250 + "c", deep):
        assert not files.is_ignored(path) or rule.endswith("*")


def test_too_many_patterns_are_refused(tmp_path: Path) -> None:
    (tmp_path / ".robotaignore").write_text("*x\n!*y\n" * MAX_PATTERNS)
    with pytest.raises(Ignored, match="more than"):
        LocalFiles(tmp_path).is_ignored("a")
    with pytest.raises(ValueError, match="characters"):
        GitIgnore(["a" * 2000])


def test_a_deep_tree_is_looked_up_once_for_each_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At depth 300, looking at every ignore file for every directory would read 45,000 of them."""
    rules = IgnoreFiles(tmp_path, ".robotaignore")
    asked = 0
    real = IgnoreFiles._spec

    def counted(self: IgnoreFiles, directory: tuple[str, ...]) -> GitIgnore | None:
        nonlocal asked
        asked += 1
        return real(self, directory)

    monkeypatch.setattr(IgnoreFiles, "_spec", counted)
    rules.match(("d",) * 300)
    assert asked == 300


def test_a_path_that_is_too_long_for_a_call_spoils_no_listing(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("n" * 200, dir_fd=descriptor)
        deeper = os.open("n" * 200, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = deeper
    os.close(descriptor)
    (tmp_path / "a.py").write_text("")
    files = LocalFiles(tmp_path)
    assert "a.py" in files.list(".", True, 99).entries
    assert files.is_ignored("/".join(["n" * 200] * 25))
    assert not files.is_ignored("a.py")
