"""Whether something is at a path: what cannot be told is never taken for nothing."""

import ast
import os
from pathlib import Path

import pytest

import robota
from robota.workspace.files.path_status import Presence, may_be_present, outermost_absent, presence_of

DECIDING = ("workspace", "policy", "hooks")
# These take a closed directory, and a path that is too long for a system call, for one at which nothing exists.
GUESSING = {"lexists", "exists"}
# Own files, files of the system, what only decides what to show or to clean up, and what a shell would see.
OWN_FILES = {
    "workspace/checkpoints/packing.py",
    "workspace/checkpoints/scan.py",
    "workspace/checkpoints/store.py",
    "workspace/checkpoints/store_directory.py",
    "workspace/files/change_set.py",
    "workspace/files/drafts.py",
    "workspace/process/tree.py",
    "workspace/process/wrapped_command.py",
    "workspace/sandbox/bubblewrap.py",
    "workspace/sandbox/crash_cleanup.py",
    "workspace/search/content.py",
    "workspace/shell/expansion.py",
}


def test_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    assert presence_of(tmp_path / "file") is presence_of(tmp_path / "link") is Presence.PRESENT
    for absent in ("missing", "missing/deeper", "file/below", "nul\0"):
        assert presence_of(f"{tmp_path}/{absent}") is Presence.ABSENT and not may_be_present(f"{tmp_path}/{absent}")


def test_a_path_beyond_the_limit_of_the_system_may_be_there(tmp_path: Path) -> None:
    """A program that works inside reaches it step by step."""
    place = f"{tmp_path}/{'/'.join(['deep' * 50] * 25)}"
    assert presence_of(place) is Presence.UNKNOWN and may_be_present(place)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_what_is_in_a_closed_directory_may_be_there(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    assert presence_of(tmp_path / "closed" / "file") is Presence.UNKNOWN
    assert outermost_absent(tmp_path / "closed" / "a" / "b", tmp_path) == tmp_path / "closed" / "a" / "b"


def test_the_outermost_directory_that_would_have_to_be_created(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    assert outermost_absent(tmp_path / "there/a/b", tmp_path) == tmp_path / "there/a"
    assert outermost_absent(tmp_path / "a", tmp_path) == tmp_path / "a"
    assert outermost_absent(tmp_path / "there", tmp_path) == tmp_path / "there"


def test_no_decision_takes_what_cannot_be_looked_at_for_missing() -> None:
    source = Path(robota.__file__).parent
    guessing = {
        str(file.relative_to(source))
        for package in DECIDING
        for file in (source / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in GUESSING
    }
    assert guessing == OWN_FILES
