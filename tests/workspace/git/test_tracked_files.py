"""What git has in its index, told without running git: compared with what git itself says."""

import os
import subprocess
from pathlib import Path

import pytest

from robota.workspace.git.tracked_files import TrackedFiles


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    names = (".env", "x.env", "deep/er/.env", "a" * 200, "é.pem", "deep/.env.local", "key.pem")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"content of {name}\n")
    git(tmp_path, "add", *(name for name in names if name != "key.pem"))
    return tmp_path


def test_the_names_are_those_that_git_lists(repository: Path) -> None:
    listed = tuple(git(repository, "ls-files", "-z").split("\0")[:-1])
    assert TrackedFiles(repository).names() == listed


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_file_that_was_changed_is_not_as_git_has_it(repository: Path, version: str) -> None:
    git(repository, "update-index", "--index-version", version)
    if version == "3":
        git(repository, "update-index", "--skip-worktree", ".env")
    tracked = TrackedFiles(repository)
    for name in git(repository, "ls-files", "-z").split("\0")[:-1]:
        assert tracked.holds_as_it_is(name), name
    assert not tracked.holds_as_it_is("key.pem"), "never added"
    assert not tracked.holds_as_it_is("env"), "only the end of a name"
    assert not tracked.holds_as_it_is("deep/er"), "a directory"
    (repository / "deep/er/.env").write_text("filled in\n")
    assert not tracked.holds_as_it_is("deep/er/.env")
    os.utime(repository / ".env", ns=(1, 1))
    assert not tracked.holds_as_it_is(".env"), "whether it was changed is not known"
    (repository / "x.env").unlink()
    (repository / "x.env").symlink_to(".env")
    assert not tracked.holds_as_it_is("x.env")


def test_without_a_repository_nothing_is_tracked(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("x")
    assert TrackedFiles(tmp_path).names() == () and not TrackedFiles(tmp_path).holds_as_it_is(".env")
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    assert TrackedFiles(tmp_path).names() is None and not TrackedFiles(tmp_path).holds_as_it_is(".env")


def test_an_index_with_the_time_and_the_size_of_another_is_read_again(repository: Path) -> None:
    tracked, index = TrackedFiles(repository), repository / ".git" / "index"
    assert "x.env" in (tracked.names() or ())
    before = index.stat()
    index.write_bytes(index.read_bytes().replace(b"x.env", b"y.env"))
    os.utime(index, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "x.env" not in (tracked.names() or ())
