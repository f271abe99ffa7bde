"""Which files git has in the index of a repository, and whether one is still as it is there; git is not run."""

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
LENGTH_OF_NAME: Final = 0xFFF
FULL_NAMES: Final = frozenset({2, 3})


class TrackedFiles:
    """The index of one workspace, read again only when it has changed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: tuple[tuple[int, int, int], tuple[str, ...] | None] | None = None

    def names(self) -> tuple[str, ...] | None:
        """Each from the root of the workspace on; None if they cannot be told. None at all without a repository."""
        try:
            git = self._git_directory()
            return None if git is None else self._names(git / "index")
        except FileNotFoundError:
            return ()
        except (OSError, ValueError):
            return None

    def holds_as_it_is(self, name: str) -> bool:
        """Whether the index has the file, and it has not been changed since: by its size and time, as git tells."""
        try:
            git = self._git_directory()
            status = (self._root / name).lstat()
            return (
                git is not None
                and stat.S_ISREG(status.st_mode)
                and _times_and_size(_read(git / "index"), os.fsencode(name))
                == (*divmod(status.st_mtime_ns, 10**9), status.st_size)
            )
        except (OSError, ValueError):
            return False

    def _git_directory(self) -> Path | None:
        """None if it is that of another repository. Raises `FileNotFoundError` where there is none."""
        git = self._root / ".git"
        if git.is_dir():
            return git
        if not os.path.lexists(git):
            raise FileNotFoundError(git)
        if proven_repository(self._root) is None:
            return None
        return Path(git.read_text(encoding="utf-8").removeprefix("gitdir:").strip())

    def _names(self, index: Path) -> tuple[str, ...] | None:
        with os.fdopen(os.open(index, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            status = os.fstat(stream.fileno())
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            if self._read is None or self._read[0] != stamp:
                if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
                    return None
                self._read = (stamp, _names_in(stream.read()))
        return self._read[1]


def _read(index: Path) -> bytes:
    with os.fdopen(os.open(index, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        status = os.fstat(stream.fileno())
        is_usable = stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES
        data = stream.read() if is_usable else b""
    return data if int.from_bytes(data[4:8], "big") in FULL_NAMES else b""


def _times_and_size(index: bytes, name: bytes) -> tuple[int, int, int] | None:
    """Seconds, nanoseconds and size that the index has of a file; None if it is not there."""
    place = 0
    while (place := index.find(name + b"\0", place + 1)) > 0:
        for flags in (2, 4):
            start = place - flags - BEFORE_FLAGS
            entry = index[start:place] if start >= HEADER and (start - HEADER) % 2 == 0 else b""
            # The end of a longer name has something else where the length of this one stands.
            if entry and int.from_bytes(entry[BEFORE_FLAGS : BEFORE_FLAGS + 2], "big") & LENGTH_OF_NAME == len(name):
                seconds, nanoseconds, size = (int.from_bytes(entry[at : at + 4], "big") for at in (8, 12, 36))
                return seconds, nanoseconds, size
    return None


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
