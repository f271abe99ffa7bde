"""The branch in the status bar: it is looked for before anybody was asked whether they trust the directory."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.cli.run.screen_conversation import git_branch


def endless(place: Path) -> None:
    place.symlink_to("/dev/zero")


def huge(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(8 << 30)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/topic/x\n")
    return tmp_path


def test_a_branch_a_commit_and_a_worktree(repository: Path, tmp_path: Path) -> None:
    assert git_branch(repository) == "topic/x"
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    (worktree / ".git").write_text("gitdir: ../.git\n")
    assert git_branch(worktree) == "topic/x"
    (repository / ".git/HEAD").write_text(f"{'0123456789' * 4}\n")
    assert git_branch(repository) == "0123456"


@pytest.mark.parametrize("name", [".git", ".git/HEAD"])
@pytest.mark.parametrize("plant", [os.mkfifo, endless, huge, Path.mkdir])
def test_pipes_and_devices_in_place_of_files_of_git_do_not_block(
    repository: Path, tmp_path: Path, name: str, plant: Callable[[Path], None]
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    if name == ".git":
        (project / ".git").rmdir()
    plant(project / name)
    assert git_branch(project) == "topic/x", "of the repository above"
