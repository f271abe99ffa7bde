"""What a command that nobody approved leaves in directories that it closes again, where that means something."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.scripts import call
from tests.hostile.attacks.environments import Environment, give_to_user, missing, run_robota

PLANT = """
import os
open("sub/conftest.py", "w").write("evil")
os.makedirs("z"); open("z/AGENTS.md", "w").write("evil"); os.chmod("z", 0o555); os.chmod("sub", 0o555)
open("notes", "w").write("evil"); os.chmod("notes", 0)
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    if (problem := missing(Environment.ORDINARY_USER)) is not None:
        pytest.skip(problem)
    place = tmp_path / "ws"
    (place / "sub").mkdir(parents=True)
    for directory in (tmp_path, *tmp_path.parents[:3]):
        directory.chmod(directory.stat().st_mode | 0o055)
    subprocess.run(["git", "init", "-q", place], check=True)
    (place / "sub/conftest.py").write_text("good")
    (place / "notes").write_text("good")
    (place / "plant.py").write_text(PLANT)
    return place


def test_what_lies_in_a_closed_directory_is_taken_out_and_undone(workspace: Path) -> None:
    home = workspace.parent / "home"
    (home / ".robota").mkdir(parents=True)
    turns = [
        {"calls": [call("execute_command", command="python3 plant.py; for i in 1; do :; done")]},
        {"text": "Done."},
    ]
    provider = {"script": {"type": "scripted", "model": "m", "options": {"turns": turns}}}
    (home / ".robota/settings.json").write_text(json.dumps({"currentProvider": "script", "providers": provider}))
    give_to_user(Environment.ORDINARY_USER, workspace.parent)
    words = ("-p", "go", "--permission-mode", "confined", "--verbose")
    done = run_robota(Environment.ORDINARY_USER, workspace, home, words, {})
    said = done.stdout + done.stderr
    assert not (workspace / "z/AGENTS.md").exists() and (workspace / "sub/conftest.py").read_text() == "good", said
    assert "removed from the workspace" in said and "notes" in said, said
    undo = ("rewind", "restore", "1", "--files", "--yes")
    undone = run_robota(Environment.ORDINARY_USER, workspace, home, undo, {})
    assert (workspace / "notes").read_text() == "good", undone.stdout + undone.stderr
