"""When what was written is safe from a loss of power: fsync, in a thread, shared by all who wait for it."""

import asyncio
import os
from pathlib import Path


class Durability:
    """Counts what was written to a descriptor and what is known to be on disk."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._written = 0
        self._safe = 0
        self._beside: set[Path] = set()
        self._flush: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[None]] = set()
        # Final: the kernel may forget unwritten pages once it has reported them, so a second fsync proves nothing.
        self.failure: OSError | None = None

    def wrote(self) -> None:
        """Something was written to the descriptor."""
        self._written += 1

    def wrote_beside(self, *paths: Path) -> None:
        """Other files or directories belong to what must be safe."""
        self._beside.update(paths)
        self._written += 1

    async def sync(self) -> None:
        """Return when everything written before the call is on disk, or `failure` says why not."""
        wanted = self._written
        while self._safe < wanted and self.failure is None:
            if self._flush is None:
                self._flush = asyncio.create_task(self._flush_now())
            # A caller that is cancelled must not take the others' fsync with it.
            await asyncio.shield(self._flush)

    def sync_soon(self) -> None:
        """The same without waiting."""
        task = asyncio.create_task(self.sync())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _flush_now(self) -> None:
        covered = self._written
        beside, self._beside = self._beside, set()
        try:
            # A copy of the descriptor lets the log be closed while the thread still runs.
            await asyncio.to_thread(_force_to_disk, os.dup(self._descriptor), beside)
            self._safe = covered
        except OSError as error:
            self.failure = error
        finally:
            self._flush = None


def _force_to_disk(descriptor: int, beside: set[Path]) -> None:
    try:
        for path in beside:
            force_path_to_disk(path)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def force_path_to_disk(path: Path) -> None:
    """For a file its content, for a directory its names."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
