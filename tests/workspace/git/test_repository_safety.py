"""Whether git only reads a repository, or would run programs that the repository names."""

import subprocess
from pathlib import Path

import pytest

from robota.workspace.git.repository_safety import git_safety
from tests.harness.programs import needs


def is_safe_repository(directory: Path) -> bool:
    return git_safety(directory).problem is None


IDENTITY = ("-c", "user.name=n", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")


def git(directory: Path, *words: str) -> str:
    return subprocess.run(["git", *IDENTITY, *words], cwd=directory, capture_output=True, text=True, check=True).stdout


def repository(directory: Path) -> Path:
    directory.mkdir(parents=True)
    git(directory, "init", "-q")
    (directory / "a").write_text("a")
    git(directory, "add", ".")
    git(directory, "commit", "-qm", "a")
    return directory


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with another one in it, which it knows as a submodule, as an unpacked archive could bring."""
    directory = repository(tmp_path / "top")
    repository(directory / "lib" / "sub")
    git(directory, "add", "lib/sub")
    git(directory, "commit", "-qm", "sub")
    return directory


def trap(directory: Path, repository: Path) -> Path:
    """Settings that leave a trace when git looks, as a helper named by a repository would."""
    sprung = directory / "sprung"
    helper = directory / "helper"
    helper.write_text(f"#!/bin/sh\ntouch '{sprung}'\n")
    helper.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(helper))
    return sprung


def test_a_plain_repository_is_only_looked_at(top: Path) -> None:
    assert is_safe_repository(top)


def test_a_program_named_by_the_repository_is_found(top: Path) -> None:
    git(top, "config", "core.fsmonitor", "./evil")
    assert not is_safe_repository(top)


@pytest.mark.parametrize("looking", [("status",), ("diff",)])
def test_a_program_named_by_a_submodule_is_found(top: Path, tmp_path: Path, looking: tuple[str, ...]) -> None:
    sprung = trap(tmp_path, top / "lib" / "sub")
    assert not is_safe_repository(top)
    git(top, *looking)
    assert sprung.exists(), "git runs what a submodule names"


def test_a_program_deeper_down_is_found(top: Path) -> None:
    inner = repository(top / "lib" / "sub" / "inner")
    git(top / "lib" / "sub", "add", "inner")
    assert is_safe_repository(top)
    git(inner, "config", "core.fsmonitor", "./evil")
    assert not is_safe_repository(top)


def test_a_submodule_whose_path_is_too_long_to_look_at_is_not_trusted(top: Path) -> None:
    """git enters it step by step, and so reads a configuration that we cannot name."""
    left = 4092 - len(str(top))
    name = "/".join(("x" * 199,) * (left // 200) + (("y" * (left % 200 - 1),) if left % 200 > 1 else ()))
    git(top, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{name}")
    (top / name).mkdir(parents=True)
    assert not is_safe_repository(top)


def test_an_index_that_hides_its_submodules_is_not_trusted(top: Path) -> None:
    git(top, "update-index", "--index-version=4")
    assert not is_safe_repository(top)


def test_an_index_made_up_so_as_to_hide_a_submodule(top: Path) -> None:
    """The number before the mode ends in the bytes that the mode begins with."""
    git(top / "lib" / "sub", "config", "core.fsmonitor", "./evil")
    index = top / ".git" / "index"
    data = bytearray(index.read_bytes())
    mode = data.index(b"\x00\x00\xe0\x00")
    data[mode - 4 : mode] = b"\x00\x00\x00\xe0"
    index.write_bytes(bytes(data))
    assert not is_safe_repository(top)


@needs("sed")  # git itself does, for submodules
def test_a_submodule_as_git_makes_it_is_only_looked_at(tmp_path: Path) -> None:
    library = repository(tmp_path / "library")
    top = repository(tmp_path / "top")
    git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "library")
    assert is_safe_repository(top)
    git(top / "library", "config", "diff.x.textconv", "./evil")
    assert not is_safe_repository(top)


def spring_without_a_git_directory(directory: Path, place: Path) -> Path:
    """A repository whose files lie in the workspace itself, under names that are not protected."""
    sprung = directory / "sprung"
    (place / "objects").mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "config").write_text(
        f'[core]\nrepositoryformatversion = 0\nbare = false\nworktree = {place}\nfsmonitor = "touch {sprung}; false"\n'
    )
    return sprung


def test_a_head_that_leads_nowhere_makes_a_repository(tmp_path: Path) -> None:
    sprung = spring_without_a_git_directory(tmp_path, tmp_path / "top")
    (tmp_path / "top" / "HEAD").symlink_to("refs/heads/main")
    assert not is_safe_repository(tmp_path / "top")
    git(tmp_path / "top", "status")
    assert sprung.exists()


def test_an_empty_git_directory_does_not_hide_a_repository(tmp_path: Path) -> None:
    sprung = spring_without_a_git_directory(tmp_path, tmp_path / "top")
    (tmp_path / "top" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "top" / ".git").mkdir()
    (tmp_path / "top" / "sub" / ".git").mkdir(parents=True)
    assert not is_safe_repository(tmp_path / "top")
    assert not is_safe_repository(tmp_path / "top" / "sub")
    git(tmp_path / "top" / "sub", "status")
    assert sprung.exists()


def test_objects_in_another_directory_make_a_repository(tmp_path: Path) -> None:
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "commondir").write_text("elsewhere\n")
    assert not is_safe_repository(tmp_path)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    return repository(tmp_path / "elsewhere")


def test_a_file_that_leads_to_another_repository_is_not_believed(elsewhere: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / ".git").write_text(f"gitdir: {elsewhere}/.git\n")
    assert "outside the workspace" in (git_safety(workspace).problem or "")


def test_a_common_directory_outside_is_not_believed(top: Path, elsewhere: Path) -> None:
    (top / ".git" / "commondir").write_text(f"{elsewhere}/.git\n")
    assert "commondir" in (git_safety(top).problem or "")


def test_a_worktree_that_both_sides_know_is_believed(top: Path, tmp_path: Path) -> None:
    git(top, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert git_safety(tmp_path / "tree").problem is None
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / ".git").write_text((tmp_path / "tree" / ".git").read_text())
    assert git_safety(tmp_path / "copy").problem is not None


def test_objects_and_files_of_git_outside_are_not_believed(top: Path, elsewhere: Path) -> None:
    alternates = top / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{elsewhere}/.git/objects\n")
    assert "alternates" in (git_safety(top).problem or "")
    alternates.unlink()
    (top / ".git" / "refs" / "heads" / "linked").symlink_to(elsewhere / "a")
    assert "is a link" in (git_safety(top).problem or "")


@needs("sed")  # git itself does, for submodules
def test_a_submodule_whose_files_are_elsewhere_is_not_believed(tmp_path: Path) -> None:
    library = repository(tmp_path / "library")
    top = repository(tmp_path / "top")
    git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "library")
    (top / "other").mkdir()
    git(top / "library", "config", "core.worktree", "../../../other")
    assert "core.worktree" in (git_safety(top).problem or "")


def test_hooks_of_a_project_do_not_make_looking_a_question(top: Path) -> None:
    """No hook runs when git looks, because it does not write its index then."""
    git(top, "config", "core.hooksPath", ".husky/_")
    assert git_safety(top).problem is None
