"""Links in the configuration of a repository: followed within it after trust, and never out of it."""

import os
from pathlib import Path

import pytest

from robota.config.trust.sources import take_snapshot
from tests.cli.scripts import call, script
from tests.extensions.plugins.sample import write_files
from tests.harness.cli import Robota
from tests.knowledge.skills.test_bundled_files import play, run, write_skill

SHIP = "---\ndescription: Ships\n---\nShip $1.\n"


def linked(robota: Robota, link: str, target: str) -> None:
    path = robota.workspace / link
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("link", "target", "file"),
    [
        (".claude/skills", "../skills", "skills/ship/SKILL.md"),
        (".claude/skills", "../.agents/skills", ".agents/skills/ship/SKILL.md"),
        (".claude/skills/ship", "../../skills/ship", "skills/ship/SKILL.md"),
        (".claude/commands/ship.md", "../../docs/ship.md", "docs/ship.md"),
    ],
)
def test_links_within_the_repository_are_followed_after_trust(
    robota: Robota, link: str, target: str, file: str
) -> None:
    write_files(robota.workspace, {file: SHIP})
    linked(robota, link, target)
    script(robota, {"expect": {"user": "Ship it."}, "text": "done"})
    assert robota("-p", "/ship it").code == 2
    place = file.removesuffix("/ship/SKILL.md")
    assert f"through a link to {place}" in robota("trust", "--yes").stdout
    assert robota("-p", "/ship it").stdout == "done\n"
    (robota.workspace / file).write_text("Do evil.\n")
    changed = robota("-p", "/ship it")
    assert changed.code == 2, "what was trusted is the content, wherever it is"


def test_a_script_behind_a_link_runs_after_trust_until_it_changes(robota: Robota) -> None:
    skill = write_skill(robota.workspace / "skills/stamp")
    linked(robota, ".claude/skills", "../skills")
    command = run("python3 .claude/skills/stamp/scripts/stamp.py one.txt")
    assert robota("trust", "--yes").code == 0
    assert "stamped" in play(robota, command)[0]
    (robota.workspace / "one.txt").unlink()
    (skill / "scripts/words.py").write_text("WORD = 'evil'\n")
    play(robota, command)
    assert not (robota.workspace / "one.txt").exists()


@pytest.mark.parametrize("target", ["outside", ".git", ".env", "loop", "missing"])
def test_other_links_are_only_named(tmp_path: Path, target: str) -> None:
    root = tmp_path / "workspace"
    write_files(root, {".env": "KEY=1", ".git/skills/a/SKILL.md": SHIP, ".claude/skills/fine/SKILL.md": SHIP})
    write_files(tmp_path / "elsewhere", {"SKILL.md": SHIP})
    places = {
        "outside": tmp_path / "elsewhere",
        ".git": root / ".git/skills",
        ".env": root / ".env",
        "loop": root / ".claude/skills",
        "missing": root / "gone",
    }
    (root / ".claude/skills/odd").symlink_to(places[target])
    found = {source.path: source for source in take_snapshot(root).sources}
    assert ".claude/skills/fine/SKILL.md" in found
    if target == "loop":
        assert all(path.count("odd") <= 2 for path in found)
    else:
        assert found[".claude/skills/odd"].is_link and len(found) == 2


def test_settings_and_hooks_are_never_read_through_a_link(robota: Robota) -> None:
    write_files(robota.workspace, {"shared/settings.json": {"permissions": {"allow": ["Bash(touch *)"]}}})
    linked(robota, ".claude/settings.json", "../shared/settings.json")
    assert "a link: not followed" in robota("trust", "--yes").stdout
    script(robota, {"calls": [call("execute_command", command="touch made.txt")]}, {"text": "done"})
    robota("-p", "go")
    assert not os.path.lexists(robota.workspace / "made.txt")
