"""Links with the names of files that other programs obey: what they lead to is obeyed, too, under whatever name."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from robota.workspace.sandbox.backend import SandboxKind
from robota.workspace.steering_files import new_or_changed, survey
from tests.cli.scripts import call, script, trust, write_settings
from tests.harness.cli import Robota
from tests.workspace.sandbox.cells import Cell

# A link, what it leads to, and the file that other programs then obey.
LINKS = [
    ("AGENTS.md", "docs/guide.md", "docs/guide.md"),
    (".claude", "agents", "agents/settings.json"),
    (".github", "gh", "gh/copilot-instructions.md"),
    ("deep/down/CLAUDE.md", "docs/claude.txt", "docs/claude.txt"),
    (".envrc", "first", "docs/environment"),  # through another link
]
ALL = pytest.mark.parametrize(("link", "target", "obeyed"), LINKS)


def lay_out(root: Path, link: str, target: str, obeyed: str) -> Path:
    """The link, its target, and the file, which is returned."""
    file = root / obeyed
    file.parent.mkdir(parents=True)
    file.write_text("good\n")
    if target == "first":
        (root / "first").symlink_to(obeyed)
    place = root / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.relpath(root / target, place.parent))
    return file


@ALL
def test_an_edit_of_what_a_link_leads_to_is_not_accepted_unasked(
    robota: Robota, link: str, target: str, obeyed: str
) -> None:
    file = lay_out(robota.workspace, link, target, obeyed)
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=robota.workspace, check=True)
    trust(robota)
    read = {"calls": [call("read_file", path=obeyed)]}
    script(robota, read, {"calls": [call("write_to_file", path=obeyed, content="evil\n")]}, {"text": "Done."})
    done = robota("-p", "go", "--permission-mode", "acceptEdits")
    assert file.read_text() == "good\n" and link in done.stderr, done


def test_a_rule_that_forbids_to_edit_a_link_forbids_to_edit_what_it_leads_to(robota: Robota) -> None:
    file = robota.workspace / "released.txt"
    file.write_text("good\n")
    (robota.workspace / "current.txt").symlink_to("released.txt")
    settings = robota.home / ".robota/settings.json"
    calls = [call("read_file", path="released.txt")], [call("write_to_file", path="released.txt", content="evil\n")]
    script(robota, *({"calls": each} for each in calls), {"text": "Done."})
    write_settings(robota, {**json.loads(settings.read_text()), "permissions": {"deny": ["Edit(current.txt)"]}})
    robota("-p", "go", "--permission-mode", "bypassPermissions")
    assert file.read_text() == "good\n"


@ALL
def test_a_command_cannot_change_what_a_link_leads_to(tmp_path: Path, link: str, target: str, obeyed: str) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path)
    file = lay_out(cell.root, link, target, obeyed)
    cell.renew()
    done = cell.run(f"echo evil > {obeyed}; mv {file.parent.name} elsewhere; mkdir {file.parent.name}; true")
    assert file.read_text() == "good\n", done


def test_a_link_that_leads_to_the_whole_workspace_closes_it(tmp_path: Path) -> None:
    cell = Cell(SandboxKind.BUBBLEWRAP, tmp_path)
    (cell.root / "CLAUDE.md").symlink_to(".")
    cell.renew()
    cell.run("touch made")
    assert not (cell.root / "made").exists()
    assert "a link whose name other programs obey" in cell.sandbox.border.limitations


@pytest.mark.parametrize(("name", "entry"), [(".github", "copilot-instructions.md"), ("mise", "config.toml")])
def test_a_new_link_gives_a_directory_a_name_by_which_its_files_are_obeyed(
    tmp_path: Path, name: str, entry: str
) -> None:
    before = survey(tmp_path)
    (tmp_path / "harmless").mkdir()
    (tmp_path / "harmless" / entry).write_text("evil")
    (tmp_path / "first").symlink_to("harmless")
    (tmp_path / name).symlink_to("first")
    assert new_or_changed(before, survey(tmp_path, before)) == (f"harmless/{entry}",)


def test_files_that_a_link_to_their_directory_makes_obeyed_are_compared(tmp_path: Path) -> None:
    file = lay_out(tmp_path, ".github", "gh", "gh/copilot-instructions.md")
    (tmp_path / "gh/workflows").mkdir()
    before = survey(tmp_path)
    file.write_text("evil")
    (tmp_path / "gh/workflows/ci.yml").write_text("evil")
    (tmp_path / "gh/notes.md").write_text("good")
    expected = ("gh/copilot-instructions.md", "gh/workflows/ci.yml")
    assert new_or_changed(before, survey(tmp_path, before)) == expected


def test_another_link_on_the_way_cannot_be_turned_elsewhere(tmp_path: Path) -> None:
    """The link that is obeyed stays as it is, and so does the file that it led to."""
    (tmp_path / "manual").mkdir()
    (tmp_path / "manual/guide.md").write_text("good")
    (tmp_path / "docs").symlink_to("manual")
    (tmp_path / "AGENTS.md").symlink_to("docs/guide.md")
    before = survey(tmp_path)
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil/guide.md").write_text("evil")
    (tmp_path / "docs").unlink()
    (tmp_path / "docs").symlink_to("evil")
    assert new_or_changed(before, survey(tmp_path, before)) == ("evil/guide.md",)
