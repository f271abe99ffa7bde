"""Files and directories that are written whole and for their owner only."""

import fcntl
import os
from pathlib import Path

import pytest

from robota.config import durable_file
from robota.config.durable_file import lock_in_time, make_private_directory, only_writer


def test_every_directory_that_is_made_is_for_its_owner_only(tmp_path: Path) -> None:
    """`~/.robota` was made on the way to a directory below it, open to everybody."""
    before = os.umask(0o022)
    try:
        make_private_directory(tmp_path / "home" / ".robota" / "heads")
        make_private_directory(tmp_path / "home" / ".robota" / "heads")
    finally:
        os.umask(before)
    made = [tmp_path / "home", tmp_path / "home" / ".robota", tmp_path / "home" / ".robota" / "heads"]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3


def test_a_lock_that_somebody_else_holds_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command in the sandbox can lock whatever it can read: project settings, the trace of intents."""
    monkeypatch.setattr(durable_file, "MAX_LOCK_WAIT_S", 0.01)
    held = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="another program has locked it"), only_writer(tmp_path):
            pass
        fcntl.flock(held, fcntl.LOCK_UN)
        with only_writer(tmp_path), pytest.raises(BlockingIOError):
            lock_in_time(held)
    finally:
        os.close(held)
