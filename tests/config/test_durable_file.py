"""Files and directories that are written whole and for their owner only."""

import os
from pathlib import Path

from robota.config.durable_file import make_private_directory


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
