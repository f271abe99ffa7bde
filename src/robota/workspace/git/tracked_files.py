"""The names of the files that git has in the index of a repository, read without running git."""

import os
import stat
from pathlib import Path
from typing import Final

from robota.config.trust.linked_worktree import proven_repository

MOST_BYTES: Final = 16 * 1024 * 1024
HEADER: Final = 12
# Times, numbers and sizes, and the hash of the content; then flags, and then the name.
BEFORE_FLAGS: Final = 60
HAS_MORE_FLAGS: Final = 0x40
FULL_NAMES: Final = frozenset({2, 3})


class TrackedFiles:
    """The index of one workspace, read again only when it has changed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: tuple[tuple[int, int, int], tuple[str, ...] | None] | None = None

    def names(self) -> tuple[str, ...] | None:
        """Each from the root of the workspace on; None if they cannot be told. None at all without a repository."""
        git = self._root / ".git"
        if not git.is_dir():
            if not os.path.lexists(git):
                return ()
            if proven_repository(self._root) is None:
                return None
            git = Path(git.read_text(encoding="utf-8").removeprefix("gitdir:").strip())
        try:
            return self._names(git / "index")
        except FileNotFoundError:
            return ()
        except (OSError, ValueError):
            return None

    def _names(self, index: Path) -> tuple[str, ...] | None:
        with os.fdopen(os.open(index, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            status = os.fstat(stream.fileno())
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            if self._read is None or self._read[0] != stamp:
                if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
                    return None
                self._read = (stamp, _names_in(stream.read()))
        return self._read[1]


def _names_in(index: bytes) -> tuple[str, ...] | None:
    if index[:4] != b"DIRC" or int.from_bytes(index[4:8], "big") not in FULL_NAMES:
        return None
    names = []
    place = HEADER
    for _ in range(int.from_bytes(index[8:HEADER], "big")):
        start = place + BEFORE_FLAGS + (4 if index[place + BEFORE_FLAGS] & HAS_MORE_FLAGS else 2)
        end = index.find(b"\0", start)
        if end < 0:
            return None
        names.append(os.fsdecode(index[start:end]))
        # Entries are filled up to a multiple of eight with at least one zero.
        place += (end - place) // 8 * 8 + 8
    # A part of the index may be in another file, whose names are not here.
    return None if b"link" in index[place : place + 4] else tuple(names)
