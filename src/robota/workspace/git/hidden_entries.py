"""Mark hidden files in a git index as "assume unchanged".

Commands do not see the files that are hidden from the model; without the mark, `git add -A` would stage their deletion.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from typing import Final

from robota.workspace.git.index_gitlinks import IndexEntry, read_index

ASSUMED_UNCHANGED: Final = 0x80  # in the first of the two flag bytes


def with_marks(index: bytes, hidden: Sequence[str]) -> bytes:
    """The index with the mark on every entry that is one of these paths or beneath one."""
    return _changed(index, hidden, lambda flags: flags | ASSUMED_UNCHANGED)


def without_marks(index: bytes, hidden: Sequence[str]) -> bytes:
    """The index without those marks."""
    return _changed(index, hidden, lambda flags: flags & ~ASSUMED_UNCHANGED)


def _changed(index: bytes, hidden: Sequence[str], change: Callable[[int], int]) -> bytes:
    if not hidden or not index:
        return index
    parsed, paths = read_index(index), {os.fsencode(path) for path in hidden}
    data = bytearray(index)
    for entry in parsed.entries:
        if _lies_in(entry, paths):
            data[entry.flags_at] = change(data[entry.flags_at])
    body, checksum = data[: -parsed.hash_bytes], index[-parsed.hash_bytes :]
    if any(checksum):  # git can be configured to omit it
        digest = hashlib.sha256(body) if parsed.hash_bytes == 32 else hashlib.sha1(body, usedforsecurity=False)
        checksum = digest.digest()
    return bytes(body) + checksum


def _lies_in(entry: IndexEntry, paths: Collection[bytes]) -> bool:
    parts = entry.name.split(b"/")
    return any(b"/".join(parts[:length]) in paths for length in range(1, len(parts) + 1))
