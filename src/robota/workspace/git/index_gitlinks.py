"""Which directories the index of a repository lists as submodules (gitlinks), with or without a `.gitmodules`.

git starts another git in each of them, which obeys the configuration there. The index is read without running git,
because this is needed before every command.
"""

import os
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

GITLINK: Final = 0o160000
MODES: Final = frozenset({0o100644, 0o100755, 0o100664, 0o120000, GITLINK, 0o040000})
GITLINK_BYTES: Final = GITLINK.to_bytes(4, "big")
HEADER_BYTES: Final = 12
# Times, device, inode, mode, owner, group and size: ten numbers; the seventh is the mode.
NUMBERS_BYTES, MODE_AT = 40, 24
# SHA-1 and SHA-256. The file does not say which one it uses, but it parses only with the right one.
HASH_BYTES: Final = (20, 32)
MAX_BYTES: Final = 256 * 1024 * 1024
EXTENDED, NAME_LENGTH = 0x4000, 0x0FFF
SHARED_INDEX: Final = "sharedindex.*"


class UnreadableIndex(Exception):
    """The index is too large, damaged, or of an unknown version. The message says which."""


def read_gitlinks(git_directory: Path) -> tuple[str, ...]:
    """The submodules in the index of this git directory, relative to the top of its working tree."""
    gitlinks: dict[str, None] = {}
    for file in (git_directory / "index", *git_directory.glob(SHARED_INDEX)):
        try:
            status = file.stat()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise UnreadableIndex(f"{file} cannot be looked at") from error
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise UnreadableIndex(f"{file} is too large, or no file")
        # A command chooses the size and the time of an index that is written back, and inodes are used again.
        version = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        gitlinks.update(dict.fromkeys(_gitlinks_in(file, version)))
    return tuple(gitlinks)


@lru_cache(maxsize=256)
def _gitlinks_in(file: Path, version: tuple[int, ...]) -> tuple[str, ...]:
    """Cached: the version only determines when the file must be read again."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UnreadableIndex(f"{file} cannot be read") from error
    # Few repositories have submodules; the others cost only this search.
    if GITLINK_BYTES not in data:
        return ()
    return tuple(os.fsdecode(entry.name) for entry in read_index(data).entries if entry.mode == GITLINK)


class IndexEntry(NamedTuple):
    """One entry of an index. `flags_at` is the offset of its flags."""

    mode: int
    name: bytes
    flags_at: int


class ReadIndex(NamedTuple):
    """A parsed index, whose last `hash_bytes` bytes are the hash of everything before them."""

    entries: list[IndexEntry]
    hash_bytes: int


def read_index(data: bytes) -> ReadIndex:
    """Every entry of an index. Raises `UnreadableIndex`."""
    for hash_bytes in HASH_BYTES:
        try:
            return ReadIndex(list(_walked(data, hash_bytes)), hash_bytes)
        except (ValueError, IndexError):
            continue
    raise UnreadableIndex("the index is damaged, or of a kind that is not known")


def staged_entries(data: bytes) -> list[tuple[int, bytes, bytes]]:
    """The staged entries: mode, name, and object with flags; not the times and sizes of files.

    Raises `UnreadableIndex`.
    """
    index = read_index(data)
    parts = ((entry, entry.flags_at - index.hash_bytes) for entry in index.entries)
    return [(entry.mode, entry.name, data[start : entry.flags_at + _flag_bytes(data, entry)]) for entry, start in parts]


def _flag_bytes(data: bytes, entry: IndexEntry) -> int:
    return 4 if data[entry.flags_at] << 8 & EXTENDED else 2


def _walked(data: bytes, hash_bytes: int) -> Iterator[IndexEntry]:
    version, entries = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("no index")
    offset, name = HEADER_BYTES, b""
    for _ in range(entries):
        mode = int.from_bytes(data[offset + MODE_AT : offset + MODE_AT + 4], "big")
        if mode not in MODES:
            raise ValueError("no mode of a file")
        flags_at = offset + NUMBERS_BYTES + hash_bytes
        flags = data[flags_at] << 8 | data[flags_at + 1]
        start = flags_at + (4 if flags & EXTENDED else 2)
        if version == 4:
            kept, start = _varint(data, start)
            end = data.index(b"\0", start)
            name = name[: len(name) - kept] + data[start:end]
            offset = end + 1
        else:
            end = data.index(b"\0", start + (flags & NAME_LENGTH))
            name = data[start:end]
            # Padded with at least one zero byte to a multiple of eight.
            offset += (end - offset + 8) & ~7
        if mode == GITLINK and not name:
            raise ValueError("an entry of a split index whose name stands in another file")
        yield IndexEntry(mode, name, flags_at)
    if offset > len(data) - hash_bytes:
        raise ValueError("cut short")


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """How many bytes of the previous name are dropped, and where the rest of the name begins."""
    byte = data[offset]
    value = byte & 0x7F
    while byte & 0x80:
        offset += 1
        byte = data[offset]
        value = (value + 1) << 7 | byte & 0x7F
    return value, offset + 1
