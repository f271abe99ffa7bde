"""A submodule cannot be replaced from inside: git would run what the impostor names as soon as somebody looks."""

import subprocess
from pathlib import Path

import pytest

from robota.workspace.sandbox.backend import SandboxKind, detect_backend
from robota.workspace.sandbox.repositories import MAX_SUBMODULES, find_submodules
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


def test_work_in_a_submodule_and_around_it_is_possible(strong: Cell) -> None:
    work = "echo new > libs/sub/new && echo x > libs/y && mv libs/y z && rm libs/sub/file && cat libs/sub/new z"
    done = strong.run(f"{work}; git status --porcelain")
    assert done.stdout == "new\nx\n M libs/sub\n?? z\n", done.stderr


def test_a_submodule_without_its_repository_can_be_worked_in_but_gets_none(strong: Cell) -> None:
    (strong.root / "libs/sub/.git").unlink()
    strong.renew()
    assert strong.run("echo x > libs/sub/file").returncode == 0
    assert strong.run("mv libs renamed").returncode != 0
    strong.run(PLANT.format(strong.outside / "ran"))
    git(strong.root, "status", "--porcelain")
    assert not list(strong.outside.iterdir())
    assert not (strong.root / "libs/sub/.git").exists()


def gitlink(place: Path, *names: str) -> None:
    """Submodules that are in the index and nowhere else."""
    for name in names:
        git(place, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{name}")


def planting(cell: Cell, name: str) -> str:
    """What a hostile program does: a repository there, by any way, whose settings name a program."""
    return (
        f"rm -rf '{name}'; mv '{name}' gone; mkdir -p '{name}'; git init -q made; cp -r made/. '{name}/'; cd '{name}';"
        f"git init -q .; git -c user.email=a -c user.name=a commit -q --allow-empty -m x;"
        f'git config core.fsmonitor "touch {cell.outside}/ran; false"'
    )


def plant_in(cell: Cell, name: str) -> None:
    cell.run(planting(cell, name))


def test_what_is_tried_here_works_without_a_sandbox(strong: Cell) -> None:
    gitlink(strong.root, "plain")
    subprocess.run(["bash", "-c", planting(strong, "plain")], cwd=strong.root, check=True, capture_output=True)
    git(strong.root, "status", "--porcelain")
    assert list(strong.outside.iterdir())


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("name", ["plain", "new/deep/er", "with blank", 'quo"te', "libs/other"])
def test_a_gitlink_that_only_the_index_names_cannot_be_filled(strong: Cell, name: str, is_there: bool) -> None:
    """Without `.gitmodules`, empty or missing, alone or beside another submodule."""
    (strong.root / ".gitmodules").unlink()
    gitlink(strong.root, name)
    if is_there:
        (strong.root / name).mkdir(parents=True)
    strong.renew()
    plant_in(strong, name)
    git(strong.root, "status", "--porcelain")
    assert not list(strong.outside.iterdir())


def test_submodules_of_submodules_are_protected(strong: Cell) -> None:
    sub = strong.root / "libs/sub"
    gitlink(sub, "inner", "file2")
    (sub / "inner").mkdir()
    strong.renew()
    for name in ("libs/sub/inner", "libs/sub/file2"):
        plant_in(strong, name)
        git(strong.root, "status", "--porcelain")
        assert not list(strong.outside.iterdir())


def test_the_last_of_many_submodules_is_protected_like_the_first(strong: Cell) -> None:
    names = [f"m{number:03}" for number in range(70)]
    gitlink(strong.root, *names)
    for name in names:
        (strong.root / name).mkdir()
    strong.renew()
    plant_in(strong, names[-1])
    git(strong.root, "status", "--porcelain")
    assert not list(strong.outside.iterdir())
    assert strong.run("echo work > file").returncode == 0


def test_more_submodules_than_can_be_protected_close_the_workspace(strong: Cell) -> None:
    entries = "".join(f"160000 {'1' * 40}\tm{number}\n" for number in range(MAX_SUBMODULES + 1))
    subprocess.run([*GIT, "update-index", "--index-info"], cwd=strong.root, check=True, input=entries.encode())
    strong.renew()
    plant_in(strong, f"m{MAX_SUBMODULES}")
    git(strong.root, "status", "--porcelain")
    assert not list(strong.outside.iterdir())
    assert strong.run("cat libs/sub/file && echo work > file").stdout == "text\n"
    assert not (strong.root / "file").exists()
    found = detect_backend(strong.sandbox.border)
    assert found.kind is SandboxKind.BUBBLEWRAP and "submodules" in found.reason


@pytest.mark.parametrize("name", ["link", "libs/link"])
def test_a_link_in_place_of_a_submodule_cannot_be_replaced(strong: Cell, name: str) -> None:
    gitlink(strong.root, name)
    (strong.root / name).symlink_to("/etc")
    strong.renew()
    plant_in(strong, name)
    subprocess.run(["git", "status"], cwd=strong.root, check=False, capture_output=True)
    assert not list(strong.outside.iterdir())


def test_a_submodule_that_came_during_the_session_is_protected_too(strong: Cell) -> None:
    gitlink(strong.root, "late/one", "late/two")
    (strong.root / "late/one").mkdir(parents=True)
    (strong.root / "late/two").mkdir(parents=True)
    git(strong.root / "late/one", "init", "-q")
    for name in ("late/one", "late/two"):
        plant_in(strong, name)
        git(strong.root, "status", "--porcelain")
        assert not list(strong.outside.iterdir())


def test_two_commands_at_once_leave_nothing_behind(strong: Cell) -> None:
    (strong.root / "libs/sub/.git").unlink()
    gitlink(strong.root, "missing", "far/away")
    strong.renew()
    before = strong.names()
    first, second = strong.sandbox.wrap(["/bin/true"]), strong.sandbox.wrap(["/bin/true"])
    first.clean_up()
    second.clean_up()
    assert strong.names() == before
    assert not (strong.root / "libs/sub/.git").exists()


def test_the_workspace_may_be_a_directory_of_a_larger_repository(strong: Cell) -> None:
    gitlink(strong.root, "libs/deeper/sub")
    (strong.root / "libs/deeper/sub").mkdir(parents=True)
    top, strong.root = strong.root, strong.root / "libs"
    strong.renew()
    plant_in(strong, "deeper/sub")
    plant_in(strong, "sub")
    git(top, "status", "--porcelain")
    assert not list(strong.outside.iterdir())


@pytest.mark.parametrize("name", ["../out", "link/sub", "libs/../..", "nowhere"])
def test_a_list_in_the_workspace_opens_or_closes_nothing(strong: Cell, name: str) -> None:
    (strong.root / "link").symlink_to(strong.outside)
    (strong.outside / "sub").mkdir()
    before = find_submodules(strong.root)
    (strong.root / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = {name}\n')
    assert find_submodules(strong.root) == before
    assert strong.run(f"echo x > {strong.outside}/file").returncode != 0
