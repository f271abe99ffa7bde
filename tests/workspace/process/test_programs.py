"""Which programs are ours to run: none that a command in the workspace could have put there."""

import asyncio
import os
from pathlib import Path

import pytest

from robota.workspace.git.run import open_git
from robota.workspace.process.environment import find_program


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A `git` in a virtual environment of a workspace; it would leave a trace."""
    programs = tmp_path / "ws" / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (programs / "git").chmod(0o755)
    return programs


def test_a_program_in_the_workspace_is_not_ours(planted: Path, tmp_path: Path) -> None:
    environment = {"PATH": os.pathsep.join((str(planted), "relative", os.environ["PATH"]))}
    assert find_program("git", environment) == str(planted / "git")
    found = find_program("git", environment, not_beneath=tmp_path / "ws")
    assert found is not None and found == find_program("git", os.environ)
    assert find_program("git", {"PATH": str(planted)}, not_beneath=tmp_path / "ws") is None


def test_git_is_not_taken_from_an_active_virtual_environment_of_the_workspace(planted: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": os.pathsep.join((str(planted), os.environ["PATH"]))}
    git = asyncio.run(open_git(tmp_path / "ws", environment))
    assert git.program != str(planted / "git") and not (tmp_path / "ran").exists()
