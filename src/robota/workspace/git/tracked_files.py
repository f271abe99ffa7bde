"""Which files are in the index of a repository, and whether one is unchanged since; read without running git."""

import os
import stat
from pathlib import Path
from typing import Final

import msgspec

from robota.config.trust.linked_worktree import proven_repository
from robota.workspace.files.path_status import Presence, presence_of

MAX_BYTES: Final = 16 * 1024 * 1024
HEADER: Final = 12
# Times, ids and sizes, and the content hash; then flags, and then the name.
BEFORE_FLAGS: Final = 60
HAS_MORE_FLAGS: Final = 0x40
LENGTH_OF_NAME: Final = 0xFFF
FULL_NAMES: Final = frozenset({2, 3})
# The last four bytes of the mode; the highest four bits of them say what it is.
MODE_AT: Final = 26
LINK: Final = 0xA


class _Index(msgspec.Struct, frozen=True):
    """The names of all tracked files, and of those that are links."""

    names: tuple[str, ...]
    links: tuple[str, ...]


NO_INDEX: Final = _Index((), ())


class TrackedFiles:
    """The index of one workspace, read again only when it has changed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: tuple[tuple[int, ...], _Index | None] | None = None

    def names(self) -> tuple[str, ...] | None:
        """The tracked files relative to the workspace; None if that is unknown, empty without a repository."""
        index = self._index()
        return None if index is None else index.names

    def links(self) -> tuple[str, ...]:
        """Those that are links, as far as that is known."""
        return (self._index() or NO_INDEX).links

    def _index(self) -> _Index | None:
        try:
            git = self._git_directory()
            return None if git is None else self._index_in(git / "index")
        except FileNotFoundError:
            return NO_INDEX
        except (OSError, ValueError):
            return None

    def holds_as_it_is(self, name: str) -> bool:
        """Whether the index has the file and it is unchanged since, judged by size and time as git does."""
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
        """The git directory; None if it belongs to another repository. Raises `FileNotFoundError` if there is none."""
        git = self._root / ".git"
        if git.is_dir():
            return git
        if presence_of(git) is Presence.ABSENT:
            raise FileNotFoundError(git)
        if proven_repository(self._root) is None:
            return None
        return Path(git.read_text(encoding="utf-8").removeprefix("gitdir:").strip())

    def _index_in(self, index: Path) -> _Index | None:
        with os.fdopen(os.open(index, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            status = os.fstat(stream.fileno())
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            if self._read is None or self._read[0] != stamp:
                if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                    return None
                self._read = (stamp, _index_of(stream.read()))
        return self._read[1]


def _read(index: Path) -> bytes:
    with os.fdopen(os.open(index, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
        status = os.fstat(stream.fileno())
        is_usable = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES
        data = stream.read() if is_usable else b""
    return data if int.from_bytes(data[4:8], "big") in FULL_NAMES else b""


def _times_and_size(index: bytes, name: bytes) -> tuple[int, int, int] | None:
    """Seconds, nanoseconds and size of a file in the index; None if it is not there."""
    offset = 0
    while (offset := index.find(name + b"\0", offset + 1)) > 0:
        for flags in (2, 4):
            start = offset - flags - BEFORE_FLAGS
            entry = index[start:offset] if start >= HEADER and (start - HEADER) % 2 == 0 else b""
            # For the end of a longer name, the length field does not match.
            if entry and int.from_bytes(entry[BEFORE_FLAGS : BEFORE_FLAGS + 2], "big") & LENGTH_OF_NAME == len(name):
                seconds, nanoseconds, size = (int.from_bytes(entry[at : at + 4], "big") for at in (8, 12, 36))
                return seconds, nanoseconds, size
    return None


def _index_of(index: bytes) -> _Index | None:
    if index[:4] != b"DIRC" or int.from_bytes(index[4:8], "big") not in FULL_NAMES:
        return None
    names, links = [], []
    offset = HEADER
    for _ in range(int.from_bytes(index[8:HEADER], "big")):
        start = offset + BEFORE_FLAGS + (4 if index[offset + BEFORE_FLAGS] & HAS_MORE_FLAGS else 2)
        end = index.find(b"\0", start)
        if end < 0:
            return None
        names.append(os.fsdecode(index[start:end]))
        if index[offset + MODE_AT] >> 4 == LINK:
            links.append(names[-1])
        # Padded with at least one zero byte to a multiple of eight.
        offset += (end - offset) // 8 * 8 + 8
    # With a split index, some of the names are in another file.
    return None if b"link" in index[offset : offset + 4] else _Index(tuple(names), tuple(links))
