"""The border of a session: what it hides, shows and protects, as a command in the sandbox meets it."""

from pathlib import Path

import msgspec
import pytest

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.sandbox.backend import SandboxKind
from robota.workspace.sandbox.border import build_border
from robota.workspace.sandbox.home.access import HomeAccess, VisibleEntry
from tests.workspace.sandbox.cells import KINDS, Cell, make


@pytest.fixture(params=KINDS)
def cell(request: pytest.FixtureRequest, tmp_path: Path) -> Cell:
    return Cell(request.param, tmp_path)


def test_a_place_beneath_a_hidden_directory_can_be_shown(cell: Cell) -> None:
    tools, secret = cell.home / "tools" / "bin", cell.home / "tools" / "token"
    tools.mkdir(parents=True)
    (tools / "program").write_text("shown")
    secret.write_text("secret")
    home = HomeAccess(areas=(cell.home,), visible=(VisibleEntry(path=tools, source="a test"),))
    border = msgspec.structs.replace(cell.sandbox.border, home=home)
    cell.sandbox = make(cell.kind, border)
    done = cell.run(f"cat {tools}/program; cat {secret}; cat {cell.home}/.netrc; echo new > {tools}/new")
    assert done.stdout == "shown"
    assert not (tools / "new").exists()


def test_a_workspace_beneath_a_hidden_directory_is_still_there(tmp_path: Path) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path)
    border = msgspec.structs.replace(cell.sandbox.border, home=HomeAccess(areas=(tmp_path,)))
    cell.sandbox = make(cell.kind, border)
    done = cell.run(f"echo new > made; ls {tmp_path}; touch {tmp_path}/beside")
    assert (cell.root / "made").read_text() == "new\n"
    assert done.stdout == "ws\n"
    assert "Read-only" in done.stderr


def test_further_paths_are_neither_changed_nor_created(tmp_path: Path) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path)
    script, missing = cell.root / "check.sh", cell.root / "later.sh"
    script.write_text("old")
    border = build_border(HeldRoot(cell.root), cell.temporary, home=cell.home, protected=(script, missing))
    cell.sandbox = make(cell.kind, border)
    cell.run(
        "echo new > check.sh; rm -f check.sh; mv check.sh other; echo new > later.sh; mkdir later.sh; touch later.sh/x"
    )
    assert script.read_text() == "old"
    assert not missing.exists()
