"""What is in a workspace does not decide which sandbox is used: bubblewrap works on this machine, or it does not."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.problems import CommandNotStarted
from robota.workspace.sandbox.backend import SandboxKind, detect_backend
from robota.workspace.sandbox.border import build_border
from tests.workspace.sandbox.cells import Cell

PATH_MAX = 4096
LONG_NAME = "x" * 250


@pytest.fixture
def strong(tmp_path: Path) -> Cell:
    return Cell(SandboxKind.BUBBLEWRAP, tmp_path)


def deep_directory(root: Path, least: int) -> tuple[int, int]:
    """A descriptor of a new directory whose path has at least so many characters, and how many it has."""
    length, descriptor = len(str(root)), os.open(root, os.O_RDONLY)
    while length < least:
        name = LONG_NAME if least - length > len(LONG_NAME) else "y" * max(1, least - length - 1)
        os.mkdir(name, dir_fd=descriptor)
        deeper = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        length, descriptor = length + 1 + len(name), deeper
    return descriptor, length


def touch(name: str, directory: int) -> None:
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=directory))


def below_a_path_that_is_too_long(root: Path) -> None:
    directory, _ = deep_directory(root, PATH_MAX + 500)
    touch("AGENTS.md", directory)
    os.close(directory)


def with_the_longest_possible_path(root: Path) -> None:
    directory, length = deep_directory(root, PATH_MAX - 1 - len("/AGENTS.md"))
    assert length + len("/AGENTS.md") == PATH_MAX - 1
    touch("AGENTS.md", directory)
    os.close(directory)


def too_long_together(root: Path) -> None:
    directory, _ = deep_directory(root, PATH_MAX - 200)
    for number in range(170):
        os.mkdir(str(number), dir_fd=directory)
        touch(f"{number}/AGENTS.md", directory)
    os.close(directory)


@pytest.mark.parametrize("plant", [below_a_path_that_is_too_long, with_the_longest_possible_path, too_long_together])
def test_files_that_bubblewrap_cannot_protect_do_not_lead_to_a_weaker_sandbox(
    strong: Cell, plant: Callable[[Path], None]
) -> None:
    plant(strong.root)
    border = build_border(HeldRoot(strong.root), strong.temporary, home=strong.home)
    strong.sandbox = detect_backend(border)
    assert strong.sandbox.kind is SandboxKind.BUBBLEWRAP
    assert "commands cannot change the workspace" in strong.sandbox.reason and len(strong.sandbox.reason) < 500
    done = strong.run("echo evil > .git/hooks/pre-commit; echo evil >> .git/config; cat .git/config; echo x > ordinary")
    assert done.stdout == "[core]\n" and "ordinary" not in strong.names()
    assert not (strong.root / ".git" / "hooks" / "pre-commit").exists()


def test_where_only_this_workspace_is_the_problem_no_command_runs_at_all(
    strong: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bubblewrap that fails in this one workspace, whatever is mounted in it."""
    programs = tmp_path / "programs"
    programs.mkdir()
    picky = programs / "bwrap"
    picky.write_text(
        f'#!/bin/sh\nfor word; do [ "$word" = "{strong.root}" ] && {{ echo "not here" >&2; exit 1; }}; done\n'
        f'exec {strong.sandbox.executable} "$@"\n'
    )
    picky.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(CommandNotStarted, match=r"not in this workspace .*not here"):
        detect_backend(strong.sandbox.border)
