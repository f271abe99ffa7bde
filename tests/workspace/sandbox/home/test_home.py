"""The home as a command in the sandbox meets it: what can be written, what a workspace in it sees, what users add."""

from pathlib import Path

import pytest

from robota.workspace.sandbox.backend import SandboxKind
from robota.workspace.sandbox.bubblewrap import interpreter_inside
from tests.workspace.sandbox.cells import KINDS, PYTHON, Cell
from tests.workspace.sandbox.home.planted import live_in, renew, write


@pytest.fixture(params=KINDS)
def cell(request: pytest.FixtureRequest, tmp_path: Path) -> Cell:
    return Cell(request.param, tmp_path)


@pytest.fixture
def strong(tmp_path: Path) -> Cell:
    return Cell(SandboxKind.BUBBLEWRAP, tmp_path)


def test_only_the_cache_can_be_written_and_nothing_written_there_stays(
    strong: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(strong, monkeypatch)
    done = strong.run(
        "mkdir ~/.cache/new && echo kept > ~/.cache/new/file && cat ~/.cache/new/file; echo x > ~/.bashrc"
    )
    assert done.stdout == "kept\n"
    assert "Read-only file system" in done.stderr
    assert strong.run("ls -A ~/.cache").stdout == ""
    assert not (strong.home / ".cache").exists() and not (strong.home / ".bashrc").exists()


def test_a_workspace_in_the_home_is_all_there_and_its_neighbours_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path)
    cell.root = cell.home / "work/site"
    write(cell.home, {"work/site/a": "mine\n", "work/other/b": "hidden\n", "work/c": "hidden\n", ".bashrc": "hidden\n"})
    live_in(cell, monkeypatch)
    done = cell.run("cat a ../other/b ../c ~/.bashrc; ls -A ..; echo new > made; echo new > ../made")
    assert done.stdout == "mine\nsite\n"
    assert (cell.root / "made").read_text() == "new\n"
    assert not (cell.home / "work/made").exists()


def test_robotas_own_python_is_visible_even_in_a_home(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    live_in(cell, monkeypatch)
    assert cell.run(f"{PYTHON} -c 'import json; print(1)'").stdout == "1\n"
    assert interpreter_inside(cell.sandbox.border) is not None


def test_configuration_of_tools_is_visible_unless_it_holds_a_credential(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(cell.home, {".cargo/config.toml": "[build]\njobs = 2\n", ".tool-versions": "nodejs 20\n"})
    write(cell.home, {".config/pip/pip.conf": "[global]\nindex-url = https://me:word@example.com/simple\n"})
    write(
        cell.home,
        {".condarc": "channels:\n  - https://example.com/t/to-12345678/a\n", ".cargo/config": "token = 'a'\n"},
    )
    live_in(cell, monkeypatch)
    done = cell.run("cat ~/.cargo/config.toml ~/.tool-versions ~/.config/pip/pip.conf ~/.condarc ~/.cargo/config")
    assert done.stdout == "[build]\njobs = 2\nnodejs 20\n"


def test_a_place_that_the_user_names_is_visible(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    write(cell.home, {"data/set/a": "data\n", ".foo/b": "foo\n"})
    live_in(cell, monkeypatch)
    renew(cell, "~/.foo", str(cell.home / "data/set"))
    assert cell.run("cat ~/.foo/b ~/data/set/a; echo x > ~/.foo/b; echo x > ~/.foo/new").stdout == "foo\ndata\n"
    assert (cell.home / ".foo/b").read_text() == "foo\n" and not (cell.home / ".foo/new").exists()
    entries = {entry.path: entry.source for entry in cell.sandbox.border.home.visible}
    assert entries[cell.home / ".foo"] == "named in sandbox.readable"


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("~/.ssh", "credentials"),
        ("~/.ssh/keys", "credentials"),
        ("~/.config", ".config/gh"),
        ("~/.m2", "settings.xml"),
        ("~/agent", "auth.json"),
        ("~/linked", "credentials"),
        ("~/.", "home directory"),
        ("/", "home directory"),
        ("~/missing", "does not exist"),
        ("relative", "absolute"),
    ],
)
def test_a_place_with_credentials_is_refused(
    strong: Cell, monkeypatch: pytest.MonkeyPatch, named: str, reason: str
) -> None:
    write(strong.home, {".ssh/keys/a": "secret\n", ".config/gh/hosts.yml": "secret\n", ".m2/settings.xml": "secret\n"})
    write(strong.home, {"agent/deep/auth.json": "secret\n"})
    (strong.home / "linked").symlink_to(".ssh")
    live_in(strong, monkeypatch)
    renew(strong, named)
    (refused,) = strong.sandbox.border.home.refused
    assert refused.named == named and reason in refused.reason
    assert "secret" not in strong.run("grep -rhs . ~").stdout
