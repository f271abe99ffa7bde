"""Whether a line that ripgrep found is really in a file of the workspace.

ripgrep walks by name: a program that swaps a directory for a link meanwhile makes it read what is elsewhere. So every
line is read again, from a file that is opened beneath the root without following a link.
"""

import codecs
import os
from pathlib import Path
from typing import Final

from robota.workspace.files.confined_paths import best_opener, directory_beneath

READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
# ripgrep decodes files with such a beginning, so that its offsets are others.
ENCODINGS: Final = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
MAX_DECODED_BYTES: Final = 64 * 1024 * 1024


class ConfinedLines:
    """Holds one file open at a time: ripgrep prints the lines of a file together. `close` must follow."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path: str | None = None
        self._descriptor: int | None = None

    def has(self, path: str, line: bytes, offset: int) -> bool:
        """Whether the line is at that offset of a file, whose path is relative to the root."""
        if path != self._path:
            self.close()
            self._path, self._descriptor = path, self._opened(path)
        if self._descriptor is None:
            return False
        try:
            return os.pread(self._descriptor, len(line), offset) == line or self._has_decoded(self._descriptor, line)
        except OSError:
            return False

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._path = self._descriptor = None

    def _opened(self, path: str) -> int | None:
        absolute = self._root / path
        try:
            with directory_beneath(self._root, absolute.parent, best_opener()) as directory:
                return os.open(absolute.name, READ, dir_fd=directory)
        except OSError:
            return None

    def _has_decoded(self, descriptor: int, line: bytes) -> bool:
        beginning = os.pread(descriptor, 3, 0)
        encoding = next((name for mark, name in ENCODINGS.items() if beginning.startswith(mark)), None)
        if encoding is None:
            return False
        text = os.pread(descriptor, MAX_DECODED_BYTES, 0).decode(encoding, "replace")
        return line in text.encode("utf-8", "surrogatepass")
