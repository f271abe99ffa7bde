"""Every limit of the search for protected files fails closed, and is said; and nothing is missed below it."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robota.workspace.sandbox.backend import SandboxKind, detect_backend
from robota.workspace.sandbox.closed_paths import SearchLimits, find_closed_paths, fit_into
from tests.workspace.sandbox.cells import PYTHON, Cell


@pytest.fixture
def strong(tmp_path: Path) -> Cell:
    return Cell(SandboxKind.BUBBLEWRAP, tmp_path)


def plant(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("old")


def test_decoys_at_the_top_close_the_workspace_and_it_is_said(strong: Cell) -> None:
    plant(strong.root, *(f"d{number}.code-workspace" for number in range(500)), "lefthook.yml", "docs/AGENTS.md")
    strong.renew()
    strong.run("echo new > lefthook.yml; echo new > docs/AGENTS.md; echo new > file")
    assert (strong.root / "lefthook.yml").read_text() == (strong.root / "docs/AGENTS.md").read_text() == "old"
    assert not (strong.root / "file").exists()
    assert "cannot change the workspace" in detect_backend(strong.sandbox.border).reason


def test_decoys_in_a_directory_close_only_that_directory_and_it_is_said(strong: Cell) -> None:
    plant(strong.root, *(f"decoys/d{number}.code-workspace" for number in range(500)), "z/lefthook.yml")
    strong.renew()
    assert strong.run("echo work > file; echo new > decoys/d7.code-workspace; echo new > z/lefthook.yml").returncode
    assert (strong.root / "file").exists()
    assert (
        (strong.root / "decoys/d7.code-workspace").read_text() == (strong.root / "z/lefthook.yml").read_text() == "old"
    )
    assert "'decoys' is read-only" in detect_backend(strong.sandbox.border).reason


@pytest.mark.parametrize("above", ["a/b/c/d/e/f/g", "build/deps", "vendor/lib", "node_modules/p", ".venv/src/x"])
def test_a_nested_repository_is_found_at_any_depth_and_in_generated_directories(tmp_path: Path, above: str) -> None:
    (tmp_path / above / ".git").mkdir(parents=True)
    assert find_closed_paths(tmp_path).paths == (tmp_path / above / ".git",)


def test_packages_in_generated_directories_keep_their_own_files_writable(tmp_path: Path) -> None:
    plant(tmp_path, "node_modules/p/AGENTS.md", "node_modules/p/.vscode/tasks.json", "build/lefthook.yml")
    assert find_closed_paths(tmp_path).paths == ()


def test_a_bare_repository_inside_is_closed_as_a_whole(tmp_path: Path) -> None:
    for name in ("fixtures/repo.git/objects", "fixtures/repo.git/refs"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "fixtures/repo.git/HEAD").touch()
    assert find_closed_paths(tmp_path).paths == (tmp_path / "fixtures/repo.git",)


@pytest.mark.parametrize("limits", [SearchLimits(entries=20), SearchLimits(seconds=-1)])
def test_what_was_not_searched_is_closed(tmp_path: Path, limits: SearchLimits) -> None:
    plant(tmp_path, *(f"big/f{number}" for number in range(30)), "big/deep/AGENTS.md")
    found = find_closed_paths(tmp_path, limits)
    protected = tmp_path / "big/deep/AGENTS.md"
    assert found.unprotectable or any(protected.is_relative_to(place) for place in found.paths)
    assert found.unprotectable or found.notes


def test_a_directory_that_cannot_be_listed_is_closed(tmp_path: Path) -> None:
    """Its owner, who runs the command, could change its mode."""
    if os.geteuid() == 0:
        pytest.skip("root can list everything")
    (tmp_path / "closed").mkdir(mode=0)
    assert find_closed_paths(tmp_path).paths == (tmp_path / "closed",)


@given(
    names=st.sets(st.lists(st.sampled_from("abcd"), min_size=1, max_size=5).map("/".join), min_size=1, max_size=60),
    most=st.integers(1, 30),
)
def test_fitting_covers_every_place_with_no_more_mounts_than_allowed(names: set[str], most: int) -> None:
    root = Path("/w")
    places = {root / name for name in names}
    fitted = fit_into(places, root, most)
    assert all(any(place.is_relative_to(each) for each in fitted) for place in places)
    ways = {parent for place in fitted for parent in place.parents if root in parent.parents}
    assert root in fitted or len(fitted) + len(ways) <= most


NAMES = st.sampled_from(["a", "b", "odd \n", "\udce9", "build", "node_modules", "docs", ".config", "x" * 200])
PROTECTED = st.sampled_from(["AGENTS.md", "lefthook.yml", ".git/config", ".vscode/tasks.json", "t.code-workspace"])
HOSTILE = """
import os, shutil
def attempt(way, *words):
    try:
        way(*words)
    except OSError:
        pass
def put(place):
    os.makedirs(os.path.dirname(place), exist_ok=True)
    open(place, "wb").write(b"planted")
for place in open("targets", "rb").read().split(b"\\0"):
    parts = place.split(b"/")
    for depth in range(1, len(parts) + 1):
        above = b"/".join(parts[:depth])
        attempt(os.rename, above, b"gone%d" % depth)
        attempt(shutil.rmtree, above)
        attempt(os.symlink, b"/tmp", above)
        attempt(put, place)
"""


@pytest.mark.slow
@settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
@given(
    tree=st.sets(st.tuples(st.lists(NAMES, max_size=5).map("/".join), PROTECTED), min_size=1, max_size=8),
    decoys=st.sampled_from([0, 70, 500]),
    decoys_in=st.sampled_from(["", "decoys/", "a/"]),
)
def test_no_hostile_command_changes_what_is_protected(tree: set[tuple[str, str]], decoys: int, decoys_in: str) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as base:
        cell = Cell(SandboxKind.BUBBLEWRAP, Path(base))
        targets = [f"{above}/{name}".lstrip("/") for above, name in sorted(tree)]
        plant(cell.root, *(f"{decoys_in}!{number}.code-workspace" for number in range(decoys)), *targets)
        cell.renew()
        promised = [t for t in targets if ".git/" in t or not {"build", "node_modules"} & set(t.split("/"))]
        before = {target: (cell.root / target).stat().st_ino for target in promised}
        (cell.root / "targets").write_bytes(b"\0".join(map(os.fsencode, targets)))
        (cell.root / "hostile.py").write_text(HOSTILE)
        done = cell.run(f"{PYTHON} hostile.py")
        assert done.returncode == 0, done.stderr
        for target, inode in before.items():
            assert (cell.root / target).read_text() == "old", target
            assert (cell.root / target).stat().st_ino == inode, target
        is_writable = cell.run("echo x > made").returncode == 0
        assert is_writable or cell.sandbox.border.unprotectable
        subprocess.run(["chmod", "-R", "u+rwX", base], check=False)
