"""What a command that nobody approved may write: bytes, and files and directories, also where it hides them."""

import os
from pathlib import Path

import pytest

from robota.workspace.process.ending import StopReason
from robota.workspace.process.watchdog import GrowthLimit, GrowthWatch

PLENTY = 1 << 40


def test_more_files_than_allowed_are_too_many_although_they_are_empty(tmp_path: Path) -> None:
    (tmp_path / "before").touch()
    watch = GrowthWatch(GrowthLimit(places=(tmp_path,), most_bytes=PLENTY, most_entries=20))
    for number in range(15):
        (tmp_path / f"{number}").touch()
    assert watch.exceeded() is None
    for number in range(15):
        (tmp_path / f"directory-{number}").mkdir()
    assert watch.exceeded() is StopReason.TOO_MANY_FILES


def test_files_behind_a_path_that_is_too_long_count(tmp_path: Path) -> None:
    watch = GrowthWatch(GrowthLimit(places=(tmp_path,), most_bytes=1_000_000, most_entries=PLENTY))
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=here)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    file = os.open("big", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(file, os.urandom(4_000_000))
    os.fsync(file)
    assert watch.exceeded() is StopReason.TOO_MUCH_DISK
    os.close(file)
    os.close(here)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_files_in_a_directory_that_the_command_closed_count(tmp_path: Path) -> None:
    watch = GrowthWatch(GrowthLimit(places=(tmp_path,), most_bytes=PLENTY, most_entries=20))
    closed = tmp_path / "closed"
    closed.mkdir()
    for number in range(30):
        (closed / f"{number}").touch()
    closed.chmod(0)
    try:
        assert watch.exceeded() is StopReason.TOO_MANY_FILES
    finally:
        closed.chmod(0o700)
