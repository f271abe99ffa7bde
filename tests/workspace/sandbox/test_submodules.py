"""A submodule cannot be replaced from inside: git would run what the impostor names as soon as somebody looks."""

import subprocess
from pathlib import Path

import pytest

from robota.workspace.sandbox.backend import SandboxKind
from robota.workspace.sandbox.repositories import find_submodules
from tests.workspace.sandbox.cells import Cell

GIT = ("git", "-c", "user.email=a@example.com", "-c", "user.name=a", "-c", "protocol.file.allow=always")
PLANT = (
    "git init -q libs/sub && cd libs/sub && git -c user.email=a -c user.name=a commit -q --allow-empty -m x;"
    'git config core.fsmonitor "touch {0}; false"'
)


@pytest.fixture
def strong(tmp_path: Path) -> Cell:
    """Its workspace has a submodule in `libs/sub`."""
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path)
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    (library / "file").write_text("text\n")
    git(library, "add", "file")
    git(library, "commit", "-q", "-m", "x")
    subprocess.run(["rm", "-rf", ".git"], cwd=cell.root, check=True)
    git(cell.root, "init", "-q")
    git(cell.root, "submodule", "--quiet", "add", str(library), "libs/sub")
    git(cell.root, "commit", "-q", "-m", "x")
    cell.renew()
    return cell


def git(place: Path, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=place, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("way", ["mv libs gone", "mv libs/sub gone", "rm -rf libs/sub", "rm -rf libs", "true"])
@pytest.mark.parametrize("is_empty", [False, True])
def test_looking_at_the_workspace_runs_nothing_that_a_command_planted(strong: Cell, way: str, is_empty: bool) -> None:
    if is_empty:
        git(strong.root, "submodule", "--quiet", "deinit", "libs/sub")
    strong.run(f"{way}; {PLANT.format(strong.outside / 'ran')}")
    git(strong.root, "status", "--porcelain")
    assert not list(strong.outside.iterdir())


def test_work_in_a_submodule_and_around_it_goes_on(strong: Cell) -> None:
    work = "echo new > libs/sub/new && echo x > libs/y && mv libs/y z && rm libs/sub/file && cat libs/sub/new z"
    done = strong.run(f"{work}; git status --porcelain")
    assert done.stdout == "new\nx\n M libs/sub\n?? z\n", done.stderr


def test_a_directory_that_is_no_submodule_any_more_stays_open(strong: Cell) -> None:
    """Its files are the workspace's own; only the list is out of date."""
    (strong.root / "libs/sub/.git").unlink()
    assert strong.run("echo x > libs/sub/file && mv libs renamed").returncode == 0


@pytest.mark.parametrize("path", ["../out", "/etc", ".", "link/sub", "libs/../..", "nowhere"])
def test_a_list_cannot_open_or_close_what_lies_elsewhere(strong: Cell, path: str) -> None:
    (strong.root / "link").symlink_to(strong.outside)
    (strong.outside / "sub").mkdir()
    (strong.root / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = {path}\n')
    found = find_submodules(strong.root)
    assert not found.pinned and not found.read_only
    assert strong.run(f"echo x > {strong.outside}/file").returncode != 0
