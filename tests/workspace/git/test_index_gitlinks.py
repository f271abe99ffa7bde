"""The reader of the index agrees with git about what is a submodule, in every version and kind of index."""

import os
import subprocess
from pathlib import Path

import pytest

from robota.workspace.git.index_gitlinks import UnreadableIndex, read_gitlinks

NAMES = ("a", "deep/er/sub", "deep/er/sub2", "with blank", 'quo"ted', "über", "x" * 5000 + "/y", "zz\nnew")
SOME_HASH = "1234567890" * 4


def git(place: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=place, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape")


@pytest.fixture(params=["2", "3", "4", "sha256", "split"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Gitlinks without `.gitmodules`, among ordinary files."""
    kind = request.param
    git(tmp_path, "init", "-q", *(["--object-format=sha256"] if kind == "sha256" else []))
    for name in ("file", "deep/er/file", "q" * 200):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text")
    git(tmp_path, "add", ".")
    some = SOME_HASH + "0" * 24 if kind == "sha256" else SOME_HASH
    for name in NAMES[:4]:
        git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{some},{name}")
    if kind == "split":
        git(tmp_path, "update-index", "--split-index")
    for name in NAMES[4:]:
        git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{some},{name}")
    if kind == "3":
        git(tmp_path, "add", "-N", "q" * 200)
        git(tmp_path, "update-index", "--skip-worktree", "file")
    if kind in "234":
        git(tmp_path, "update-index", "--index-version", kind)
    return tmp_path


def test_git_and_the_reader_name_the_same_submodules(repository: Path) -> None:
    listed = git(repository, "ls-files", "-s", "-z").split("\0")
    expected = {line.partition("\t")[2] for line in listed if line.startswith("160000")}
    assert expected == set(NAMES)
    assert set(read_gitlinks(repository / ".git")) == expected


def test_an_index_is_read_again_when_it_changes(repository: Path) -> None:
    git(repository, "rm", "-q", "--cached", "a")
    assert "a" not in read_gitlinks(repository / ".git") or list((repository / ".git").glob("sharedindex.*"))


def test_an_index_with_the_time_and_the_size_of_another_is_read_again(tmp_path: Path) -> None:
    """A command chooses both for the index that is written back, and the inode may be a used one."""
    git(tmp_path, "init", "-q")
    index = tmp_path / ".git" / "index"
    git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{SOME_HASH},sub")
    with_submodule = index.read_bytes()
    git(tmp_path, "rm", "-q", "--cached", "sub")
    git(tmp_path, "update-index", "--add", "--cacheinfo", f"100644,{SOME_HASH},sub")
    before = index.stat()
    assert read_gitlinks(tmp_path / ".git") == () and before.st_size == len(with_submodule)
    index.write_bytes(with_submodule)
    os.utime(index, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read_gitlinks(tmp_path / ".git") == ("sub",)


def test_a_repository_without_an_index_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert read_gitlinks(tmp_path / ".git") == ()


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"DIRC\0\0\0\5" + data[8:]])
def test_what_cannot_be_read_is_not_taken_for_nothing(repository: Path, damage: object) -> None:
    assert callable(damage)
    index = repository / ".git/index"
    index.write_bytes(damage(index.read_bytes()))
    with pytest.raises(UnreadableIndex):
        read_gitlinks(repository / ".git")
