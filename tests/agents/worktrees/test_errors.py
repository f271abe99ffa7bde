"""What stands in the way of a worktree is said plainly, and nothing is left of the attempt."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.agents.worktrees.errors import WorktreeError
from robota.agents.worktrees.name import NAME, check_name, new_name
from tests.agents.worktrees.repositories import (
    ANSWER,
    branches,
    commit,
    git,
    names_of_worktrees,
    run_in_worktree,
    worktree,
)
from tests.cli.scripts import script
from tests.harness.cli import EXECUTABLE, Robota, clean_environment, run, with_room_for


def refused(robota: Robota, *words: str, name: str = "x") -> str:
    """Start in a worktree, which must fail as a matter of configuration and leave no worktree behind."""
    script(robota, ANSWER)
    before = names_of_worktrees(robota)
    done = robota("-w", name, "-p", "go")
    assert (done.code, done.stdout) == (3, ""), done.stderr
    for word in words:
        assert word in done.stderr, done.stderr
    assert names_of_worktrees(robota) == before
    return done.stderr


def test_not_a_repository(robota: Robota) -> None:
    shutil.rmtree(robota.workspace / ".git")
    refused(robota, "is not in a git repository", "Nothing was changed")
    assert list(robota.workspace.iterdir()) == []


def test_a_bare_repository(robota: Robota) -> None:
    commit(robota.workspace, a_txt="a")
    git(robota.workspace, "clone", "--quiet", "--bare", ".", "bare.git")
    refused(Robota(robota.workspace / "bare.git", robota.home), "is a bare repository")


def test_the_inside_of_a_repository(robota: Robota) -> None:
    commit(robota.workspace, a_txt="a")
    refused(Robota(robota.workspace / ".git", robota.home), "bare repository, or the inside of one")


def test_no_commit_yet(robota: Robota) -> None:
    refused(robota, "has no commit yet", "Make a first commit")


def test_no_git_on_this_machine(robota: Robota, tmp_path: Path) -> None:
    script(robota, ANSWER)
    (tmp_path / "empty").mkdir()
    done = robota("-w", "-p", "go", env={"PATH": str(tmp_path / "empty")})
    assert done.code == 3 and "There is no git" in done.stderr


def test_a_git_in_the_workspace_is_not_taken_for_git(robota: Robota) -> None:
    """Not even if the PATH has a relative directory, which depends on where the program runs."""
    planted = robota.workspace / "git"
    planted.write_text("#!/bin/sh\ntouch planted-ran\n")
    planted.chmod(0o755)
    commit(robota.workspace)
    script(robota, ANSWER)
    path = clean_environment(robota.home)["PATH"]
    done = robota("-w", "x", "-p", "go", env={"PATH": f".::{path}"})
    assert done.code == 0, done.stderr
    assert not (robota.workspace / "planted-ran").exists()


def test_a_branch_of_that_name_is_not_touched(robota: Robota) -> None:
    commit(robota.workspace, a_txt="a")
    git(robota.workspace, "branch", "worktree-x")
    refused(robota, "There is already a branch worktree-x", "robota worktree remove x")
    assert "worktree-x" in branches(robota.workspace)


@pytest.mark.parametrize("kind", ["directory", "file", "link", "repository", "pretender"])
def test_something_else_of_that_name_is_not_touched(robota: Robota, kind: str, tmp_path: Path) -> None:
    commit(robota.workspace, a_txt="a")
    run_in_worktree(robota, "first", "touch stay")
    place = worktree(robota, "x")
    if kind == "file":
        place.write_text("mine")
    elif kind == "link":
        place.symlink_to(worktree(robota, "first"))
    else:
        place.mkdir()
        (place / "mine").write_text("mine")
    if kind == "repository":
        git(place, "init", "--quiet")
    if kind == "pretender":
        shutil.copy(worktree(robota, "first") / ".git", place / ".git")
    refused(robota, "exists and is not a worktree of this repository")
    assert place.exists() and branches(robota.workspace) == ["main", "worktree-first"]


def test_inside_a_worktree_it_says_where_the_repository_is(robota: Robota) -> None:
    commit(robota.workspace, a_txt="a")
    run_in_worktree(robota, "x", "touch stay")
    words = refused(Robota(worktree(robota, "x"), robota.home), "is already in a worktree", name="y")
    assert str(robota.workspace) in words


def test_a_directory_that_is_in_no_commit(robota: Robota) -> None:
    commit(robota.workspace, a_txt="a")
    (robota.workspace / "new").mkdir()
    refused(Robota(robota.workspace / "new", robota.home), "is not in the last commit")
    assert branches(robota.workspace) == ["main"]


def test_a_repository_with_submodules_works_and_brings_them_empty(robota: Robota, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    git(other, "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-qm", "x", "--allow-empty")
    # Not by `git submodule`, which is a script of the shell and needs more than git.
    git(robota.workspace, "clone", "--quiet", str(other), "sub")
    (robota.workspace / ".gitmodules").write_text(f'[submodule "sub"]\n\tpath = sub\n\turl = {other}\n')
    commit(robota.workspace)
    done = run_in_worktree(robota, "x", 'test -z "$(ls -A sub)" && touch empty')
    assert "kept: 1 changed" in done.stderr, done.stderr
    assert "was removed" in run_in_worktree(robota, "y", "true").stderr


def test_a_place_that_is_a_link_is_not_followed(robota: Robota, tmp_path: Path) -> None:
    commit(robota.workspace, a_txt="a")
    (tmp_path / "elsewhere").mkdir()
    (robota.workspace / ".robota").mkdir()
    (robota.workspace / ".robota/worktrees").symlink_to(tmp_path / "elsewhere")
    script(robota, ANSWER)
    done = robota("-w", "x", "-p", "go")
    assert done.code == 3 and "is a symbolic link, which is not followed" in done.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", [".gitignore", ".x.lock"])
def test_links_that_the_repository_put_in_the_place_are_not_followed(robota: Robota, tmp_path: Path, name: str) -> None:
    (robota.workspace / ".robota/worktrees").mkdir(parents=True)
    (robota.workspace / ".robota/worktrees" / name).symlink_to(tmp_path / "planted")
    commit(robota.workspace, a_txt="a")
    script(robota, ANSWER)
    robota("-w", "x", "-p", "go")
    assert not (tmp_path / "planted").exists()


def test_a_repository_that_claims_a_directory_around_it_does_not_get_it(robota: Robota) -> None:
    commit(robota.workspace, a_txt="a")
    git(robota.workspace, "config", "core.worktree", "../..")
    refused(robota, "which is not its own place")
    assert not (robota.workspace.parent / ".robota").exists()


def test_a_checkout_that_breaks_off_leaves_nothing(robota: Robota) -> None:
    """As on a full disk: git may not write files this long, and dies in the middle."""
    commit(robota.workspace, a_txt="a", big_bin="x" * 300_000)
    script(robota, ANSWER)
    command = with_room_for(100, str(EXECUTABLE), "-w", "x", "-p", "go")
    done = run(command, robota.workspace, clean_environment(robota.home), "")
    assert done.code == 3, done.stderr
    assert "could not be created" in done.stderr and "removed again" in done.stderr
    assert names_of_worktrees(robota) == []
    assert branches(robota.workspace) == ["main"]
    assert git(robota.workspace, "worktree", "list").count("\n") == 0


def test_a_session_that_cannot_start_leaves_no_worktree(robota: Robota) -> None:
    commit(robota.workspace, a_txt="a")
    script(robota, ANSWER)
    done = robota("-w", "x", "-p", "go", "--provider", "unknown")
    assert done.code == 3, done.stderr
    assert names_of_worktrees(robota) == [] and branches(robota.workspace) == ["main"]


def test_a_prompt_that_was_taken_for_the_name(robota: Robota) -> None:
    commit(robota.workspace, a_txt="a")
    done = robota("-p", "now", "-w", "fix the bug")
    assert done.code == 3 and "A prompt right after -w is taken for the name" in done.stderr


@given(st.text(max_size=80))
def test_a_name_is_a_plain_word_or_refused(text: str) -> None:
    try:
        check_name(text)
    except WorktreeError:
        return
    assert 0 < len(text) <= 64 and text.isascii()
    assert not {"/", ".", " ", "\n", "\0", "~", ":", "^"}.intersection(text) and not text.startswith("-")


@pytest.mark.parametrize("name", ["..", "-x", "a/b", "a..b", "x.lock", "a b", "x\n", "", "é", "a" * 65, "@{u}"])
def test_names_that_could_mean_something_else_are_refused(name: str) -> None:
    with pytest.raises(WorktreeError):
        check_name(name)


@given(st.binary(min_size=6, max_size=6))
def test_names_that_are_made_up_are_valid(random_bytes: bytes) -> None:
    assert NAME.fullmatch(new_name(random_bytes))
