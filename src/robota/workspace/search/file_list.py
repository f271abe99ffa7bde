"""The list of files of a workspace, made by ripgrep in the background and reused while it is recent."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.problems import FileProblem
from robota.workspace.search.content import tidy, visibility_options
from robota.workspace.search.file_index import FileIndex
from robota.workspace.search.ripgrep import run_ripgrep

MAX_FILES: Final = 300_000
# A list is reused for this long, and longer if making it takes long: at most a twentieth of the time is spent on it.
FRESH_S: Final = 2.0
FRESH_FACTOR: Final = 20
# The first call waits this long for the complete list, then returns the part that is there. If that is empty, it waits
# for this many steps more.
PATIENCE_S: Final = 0.015
STEP_S: Final = 0.004
MORE_STEPS: Final = 5
MAX_IN_FIRST_LIST: Final = 1_000
# Yield after this many files: otherwise the thread that draws waits up to 5 ms for this one, many times.
YIELD_EVERY: Final = 100


class ListedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files known so far; unless `is_complete`, listing is still in progress."""

    index: FileIndex
    is_complete: bool


class FileList:
    """The files that ripgrep lists in a workspace: hidden ones too, but not ignored ones or those in `.git`."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._index: FileIndex | None = None
        self._fresh_until = 0.0
        self._found: list[str] = []
        self._listing: asyncio.Task[None] | None = None

    def refresh(self) -> None:
        """Start listing the files, unless that is in progress or the list is recent."""
        if self._listing is None and self._clock() >= self._fresh_until:
            self._listing = asyncio.create_task(self._list())

    async def files(self) -> ListedFiles:
        """The files known now. An outdated list is returned once more while the next one is made."""
        self.refresh()
        if self._index is None and self._listing is not None:
            await self._wait_for_some(self._listing)
        if self._index is not None:
            return ListedFiles(index=self._index, is_complete=True)
        return ListedFiles(index=FileIndex(self._found[:MAX_IN_FIRST_LIST]), is_complete=False)

    async def _wait_for_some(self, listing: "asyncio.Task[None]") -> None:
        await asyncio.wait([listing], timeout=PATIENCE_S)
        for _ in range(MORE_STEPS):
            if self._index is not None or self._found:
                return
            await asyncio.wait([listing], timeout=STEP_S)

    async def _list(self) -> None:
        begun = self._clock()
        paths = self._found = []

        def take(record: bytes) -> bool:
            paths.append(tidy(os.fsdecode(record)))
            if len(paths) % YIELD_EVERY == 0:
                time.sleep(0)
            return len(paths) < MAX_FILES

        options = ["--files", "--null", *visibility_options(self._root, hidden=True)]
        try:
            await run_ripgrep([*options, "--", "."], self._root, take, separator=b"\0")
            self._index = await asyncio.to_thread(FileIndex, paths)
        except (FileProblem, OSError):
            # Without ripgrep, or if the directory was removed, the list is empty.
            self._index = FileIndex(())
        finally:
            now = self._clock()
            self._fresh_until = now + max(FRESH_S, FRESH_FACTOR * (now - begun))
            self._listing = None
            self._found = []
