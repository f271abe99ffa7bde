"""The next start removes what killed processes left, and nothing of those that are alive."""

import fcntl
import os
from pathlib import Path

from tests.cli.scripts import script
from tests.harness.cli import Robota

DRAFTS = (
    "home/.robota/.settings.json.99.new",
    "home/.robota/.robota.lock.99.new",
    "home/.robota/cache/.skills.json.99.new",
    "home/.robota/intents/.abc.json.99.new",
    "home/.robota/mcp-sign-in/.abc.json.99.new",
    "home/.robota/memory/.MEMORY.md.99.new",
    "home/.robota/memory/topics/.taste.md.99.new",
    "home/.robota/plugins/.plugins.json.99.new",
    "home/.robota/plugins/staging/abc/files/plugin.json",
    "home/.robota/traces/.abc.99.new",
    "home/.robota/trust/.abc.99.new",
    "workspace/.orchestration/.intent_map.md.99.new",
    "workspace/.robota/.settings.local.json.99.new",
    "workspace/.robota/memory/.MEMORY.md.99.new",
    "workspace/.robota/memory/topics/.build.md.99.new",
    "workspace/.robota/sessions/.new/abc/log.jsonl",
)
NOT_OURS = ("workspace/.orchestration/notes.new", "workspace/.robota/memory/notes.new", "workspace/.MEMORY.md.99.new")
IN_USE = ("home/.robota/plugins/staging/def/plugin.json", "workspace/.robota/sessions/.new/def/log.jsonl")


def test_drafts_of_killed_processes_are_removed_and_no_others(robota: Robota, tmp_path: Path) -> None:
    for name in (*DRAFTS, *NOT_OURS, *IN_USE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("half")
    script(robota, {"text": "Done."})
    held = [os.open((tmp_path / name).parent, os.O_RDONLY) for name in IN_USE]
    for descriptor in held:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        assert robota("-p", "go").code == 0
    finally:
        for descriptor in held:
            os.close(descriptor)
    assert [name for name in DRAFTS if (tmp_path / name).exists()] == []
    assert [name for name in (*NOT_OURS, *IN_USE) if not (tmp_path / name).exists()] == []


def test_a_link_in_place_of_a_directory_leads_to_no_removal(robota: Robota, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "topics").mkdir(parents=True)
    for name in (".MEMORY.md.99.new", "topics/.build.md.99.new"):
        (elsewhere / name).write_text("not Robota's")
    (robota.workspace / ".robota").mkdir()
    (robota.workspace / ".robota/memory").symlink_to(elsewhere)
    (robota.workspace / ".orchestration").symlink_to(elsewhere)
    script(robota, {"text": "Done."})
    assert robota("-p", "go").code == 0
    assert sorted(path.name for path in elsewhere.rglob("*.new")) == [".MEMORY.md.99.new", ".build.md.99.new"]
