"""Stores the text being typed in a file, so that `kill -9` or a power failure does not lose it."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec

from robota.config.durable_file import PRIVATE, make_private_directory, only_writer, read_file

MAX_CHARACTERS: Final = 500_000
OPEN: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


class LeftDraft(msgspec.Struct, frozen=True, order=True):
    """The draft of a process that was killed."""

    written_ns: int
    path: Path
    text: str


class DraftFile:
    """The draft of this process in one directory. A locked file belongs to a running process; the others are left over.

    If the file cannot be written, no draft can be offered after a crash.
    """

    def __init__(self, parent: Path, cwd: str) -> None:
        self._directory = parent / sha256(os.fsencode(cwd)).hexdigest()[:16]
        self._path = self._directory / f"{os.getpid()}-{os.urandom(4).hex()}.json"
        self._descriptor: int | None = None
        self._is_closed = False
        self._lock = Lock()

    def take_left(self, keep_older: Callable[[str], None]) -> str:
        """The newest draft that a killed process left, which is now ours; empty if there is none.

        Older ones are given to `keep_older`. Each draft is taken by one process.
        """
        newest = ""
        with contextlib.suppress(OSError), only_writer(self._directory, make=False):
            left = sorted(self._left())
            for draft in left[:-1]:
                keep_older(draft.text)
            if left:
                newest = left[-1].text
                self.keep(newest)
            for draft in left:
                draft.path.unlink(missing_ok=True)
        return newest

    def keep(self, text: str) -> None:
        """Replace the draft on disk; an empty one is removed. Called from any thread."""
        with self._lock, contextlib.suppress(OSError):
            if text.strip() and not self._is_closed:
                self._write(text[:MAX_CHARACTERS])
            else:
                self._remove()

    def close(self) -> None:
        """Remove the draft, because it was kept elsewhere."""
        self._is_closed = True
        self.keep("")

    def _left(self) -> Iterator[LeftDraft]:
        for path in self._directory.iterdir():
            with contextlib.suppress(OSError, msgspec.DecodeError):
                descriptor = os.open(path, OPEN | os.O_NONBLOCK)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    # The first line is complete, even if the rest of an older, longer draft follows.
                    line = read_file(path, follow=False).split(b"\n", 1)[0]
                    text = msgspec.json.decode(line, type=str)
                    yield LeftDraft(os.fstat(descriptor).st_mtime_ns, path, text)
                finally:
                    os.close(descriptor)

    def _write(self, text: str) -> None:
        if self._descriptor is None:
            make_private_directory(self._directory)
            self._descriptor = os.open(self._path, OPEN | os.O_CREAT | os.O_EXCL, PRIVATE)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        line = msgspec.json.encode(text.encode("utf-8", "replace").decode("utf-8")) + b"\n"
        os.pwrite(self._descriptor, line, 0)
        os.ftruncate(self._descriptor, len(line))
        os.fdatasync(self._descriptor)

    def _remove(self) -> None:
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None
