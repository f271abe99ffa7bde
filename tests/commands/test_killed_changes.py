"""A command that changes shared files is killed at each of its steps: everything of the change is there, or nothing.

What a killed process leaves is removed by the next start.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cli import LONGEST_RUN_S, Robota, clean_environment

ROOT = Path(__file__).parents[2]
PLUGIN = {".claude-plugin/plugin.json": '{"name": "lint", "version": "1.0.0"}', "commands/greet.md": "Say hello.\n"}

# The commands before the one that is killed, and that one. PLUGIN stands for the directory of a plugin.
STORIES: dict[str, list[list[str]]] = {
    "memory add": [
        ["memory", "add", "project", "build", "The build needs make"],
        ["memory", "add", "project", "tests", "Tests run with pytest"],
    ],
    "memory forget": [
        ["memory", "add", "project", "build", "The build needs make"],
        ["memory", "forget", "ENTRY"],
    ],
    "memory add --user": [["memory", "add", "--user", "user", "taste", "Prefers tabs"]],
    "config set --add": [["config", "set", "permissions.deny", "Bash(rm:*)", "--add"]],
    "plugin install": [["plugin", "install", "PLUGIN", "--yes"]],
    "plugin update": [["plugin", "install", "PLUGIN", "--yes"], ["plugin", "update", "lint", "--yes"]],
    "plugin uninstall": [["plugin", "install", "PLUGIN", "--yes"], ["plugin", "uninstall", "lint"]],
    "plugin disable": [["plugin", "install", "PLUGIN", "--yes"], ["plugin", "disable", "lint"]],
    "trust": [["trust", "--yes"]],
    "mcp add": [["mcp", "add", "server", "true", "--scope", "user"]],
}


@pytest.mark.parametrize("story", STORIES)
def test_a_killed_change_is_there_in_all_files_or_in_none(story: str, tmp_path: Path) -> None:
    original = tmp_path / "original"
    home, workspace = original / "home", original / "workspace"
    for directory in (home, workspace / ".robota"):
        directory.mkdir(parents=True)
    (workspace / ".robota/settings.json").write_text('{"permissions": {"allow": ["Bash(ls)"]}}')
    (workspace / ".robota/.gitignore").write_text("*\n")
    plugin = tmp_path / "plugin"
    for name, text in PLUGIN.items():
        (plugin / name).parent.mkdir(parents=True, exist_ok=True)
        (plugin / name).write_text(text)
    robota = Robota(workspace, home)
    *earlier, last = STORIES[story]
    for arguments in earlier:
        assert robota(*(str(plugin) if each == "PLUGIN" else each for each in arguments)).code == 0
    if story == "plugin update":
        (plugin / "commands/greet.md").write_text("Say good bye.\n")
    entry = json.loads(robota("memory", "list", "--json").stdout)[0]["id"] if "ENTRY" in last else ""
    named = {"PLUGIN": str(plugin), "ENTRY": entry}
    report = _killed_everywhere(original, tmp_path / "copy", [named.get(each, each) for each in last])
    assert report["changes"]
    assert report["points"] > 3
    assert report["halves"] == []


def _killed_everywhere(original: Path, copy: Path, arguments: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.fuzz.kill.every_point", str(original), str(copy), *arguments]
    env = clean_environment(copy / "home")
    env["PYTHONDONTWRITEBYTECODE"] = "1"  # these writes are none of the command
    env["PYTHONPATH"] = f"{ROOT}:{env['PYTHONPATH']}"
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=LONGEST_RUN_S, check=False)
    assert done.returncode == 0, done.stderr.decode()
    report: dict[str, Any] = json.loads(done.stdout)
    return report
