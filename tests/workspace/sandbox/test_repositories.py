"""Repositories within the workspace, and where `.git` files lead: found, and closed to commands."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.sandbox.backend import SandboxKind, detect_backend
from robota.workspace.sandbox.border import build_border
from robota.workspace.sandbox.closed_paths import find_closed_paths
from tests.workspace.sandbox.cells import Cell


@pytest.fixture
def strong(tmp_path: Path) -> Cell:
    return Cell(SandboxKind.BUBBLEWRAP, tmp_path)


def nested(cell: Cell, path: str) -> Path:
    repository = cell.root / path
    repository.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    cell.renew()
    return repository


def test_a_nested_repository_is_closed(strong: Cell) -> None:
    repository = nested(strong, "packages/inner")
    before = (repository / ".git/config").read_text()
    for command in ("echo evil >> .git/config", "echo evil > .git/hooks/pre-commit", "rm -rf .git", "mv .git x"):
        assert strong.run(f"cd packages/inner && {command}").returncode != 0
    assert (repository / ".git/config").read_text() == before
    assert strong.run("cd packages/inner && echo work > file && git status --porcelain").stdout == "?? file\n"


def test_a_nested_repository_stays_where_it_is(strong: Cell) -> None:
    nested(strong, "packages/inner")
    before = (strong.root / "packages/inner/.git").stat().st_ino
    for command in ("mv packages/inner moved", "mv packages moved", "rm -rf packages"):
        strong.run(command)
        assert (strong.root / "packages/inner/.git").stat().st_ino == before


def test_a_repository_that_a_command_made_is_its_own(strong: Cell) -> None:
    assert strong.run("git init -q fresh").returncode == 0
    assert strong.run("rm -rf fresh").returncode == 0
    assert not (strong.root / "fresh").exists()


def test_where_a_git_file_leads_is_closed_too(strong: Cell) -> None:
    worktree = strong.root / "worktree"
    worktree.mkdir()
    subprocess.run(["git", "init", "-q", "--separate-git-dir", "../elsewhere"], cwd=worktree, check=True)
    strong.renew()
    for command in ("echo evil >> elsewhere/config", "echo 'gitdir: /tmp' > worktree/.git"):
        assert strong.run(command).returncode != 0
    assert "evil" not in (strong.root / "elsewhere/config").read_text()


def test_the_root_itself_may_be_a_worktree(strong: Cell) -> None:
    subprocess.run(["rm", "-rf", ".git"], cwd=strong.root, check=True)
    subprocess.run(["git", "init", "-q", "--separate-git-dir", "kept"], cwd=strong.root, check=True)
    strong.renew()
    assert strong.run("echo evil >> kept/config").returncode != 0
    assert strong.run("git status --porcelain --untracked-files=no").returncode == 0


def test_a_workspace_without_a_repository_cannot_become_one(strong: Cell) -> None:
    """Git takes a directory with HEAD, objects and refs for a repository, and obeys the config beside them."""
    subprocess.run(["rm", "-rf", ".git"], cwd=strong.root, check=True)
    witness = strong.outside / "ran"
    config = f"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch {witness}; false\n"
    plant = f"mkdir -p objects refs/heads; echo ref: refs/heads/main > HEAD; printf '{config}' > config"
    for command in (plant, f"mkdir x; cd x; {plant}; cd ..; mv x/* .; echo x > commondir", f"mkdir refs; {plant}"):
        strong.run(command)
        subprocess.run(["git", "status"], cwd=strong.root, check=False, capture_output=True)
        assert not witness.exists()
    (strong.root / "refs").mkdir()
    (strong.root / "HEAD").unlink(missing_ok=True)
    strong.run(plant)
    subprocess.run(["git", "status"], cwd=strong.root, check=False, capture_output=True)
    assert not witness.exists()


def test_odd_things_in_a_workspace_do_not_choose_a_weaker_sandbox(strong: Cell) -> None:
    subprocess.run(["rm", "-rf", ".git"], cwd=strong.root, check=True)
    (strong.root / ".git").write_text("gitdir: .")
    (strong.root / ".claude").mkdir(mode=0)
    (strong.root / ".robota").write_text("a file")
    (strong.root / ".gitmodules").write_text(f"path = a/../..\npath = \x01\npath = {'x' * 300}\n")
    os.mkfifo(strong.root / ".envrc")
    for name, target in (("a", "/etc"), ("b", "nowhere"), ("c", ".git")):
        (strong.root / name).mkdir()
        (strong.root / name / ".git").symlink_to(target)
    (strong.root / "d").mkdir()
    os.mkfifo(strong.root / "d/.git")
    border = build_border(HeldRoot(strong.root), strong.temporary, home=strong.home)
    assert detect_backend(border).kind is SandboxKind.BUBBLEWRAP


@given(content=st.binary(max_size=200) | st.text("gitdr: ./\n\0", max_size=60).map(str.encode))
def test_no_git_file_makes_trouble(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    root = tmp_path_factory.mktemp("ws")
    (root / ".git").write_bytes(b"gitdir:" + content)
    (root / ".gitmodules").write_bytes(b"path=" + content)
    assert all(place.is_relative_to(root) and place != root for place in find_closed_paths(root).paths)
