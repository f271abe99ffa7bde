"""The symbols of all files of a workspace: read once, kept outside the workspace, and read again where files change."""

import asyncio
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import make_private_directory, read_file
from robota.workspace.code.symbol import READING, FileSymbols
from robota.workspace.code.symbol_reader import MAX_BYTES, SUFFIXES, SymbolReader
from robota.workspace.files.files import EditableFiles
from robota.workspace.problems import FileProblem
from robota.workspace.search.stamped_files import FileStamp, list_code_files, stamps_of

READERS: Final = 2
MAX_FILES: Final = 50_000
MAX_KEPT_BYTES: Final = 256 * 1024 * 1024


class IndexedFile(msgspec.Struct, frozen=True, array_like=True):
    """The symbols of a file, and its stamp when they were read."""

    stamp: FileStamp
    symbols: FileSymbols


class KeptIndex(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of an index; `reading` is the version that read it."""

    reading: int
    root: str
    files: dict[str, IndexedFile]


class IndexState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a workspace. `left_out` counts files over the limit; unless `is_complete`, some are unread."""

    symbols: Mapping[str, FileSymbols]
    is_complete: bool
    left_out: int = 0


class SymbolIndex:
    """The symbols of one workspace. `kept_in` is a directory of the user; None keeps nothing."""

    def __init__(
        self, root: Path, files: EditableFiles, is_hidden: Callable[[str], bool], kept_in: Path | None
    ) -> None:
        self._root = root
        self._files = files
        self._is_hidden = is_hidden
        self._kept_in = None if kept_in is None else kept_in / f"{_digest(root)}.msgpack"
        self._read: dict[str, IndexedFile] | None = None
        self._left_out = 0
        self._reading: asyncio.Task[None] | None = None
        self._is_closed = False

    async def state(self, patience_s: float) -> IndexState:
        """The symbols of the workspace as it is now, as far as they are read after this time; the rest goes on."""
        if self._reading is None:
            self._reading = asyncio.create_task(self._refresh())
        await asyncio.wait([self._reading], timeout=patience_s)
        is_complete = self._reading.done()
        if is_complete:
            reading, self._reading = self._reading, None
            reading.result()
        symbols = {path: each.symbols for path, each in (self._read or {}).items()}
        return IndexState(symbols=symbols, is_complete=is_complete, left_out=self._left_out)

    def close(self) -> None:
        """Stop reading."""
        self._is_closed = True

    async def _refresh(self) -> None:
        paths = await list_code_files(self._root, SUFFIXES, self._is_hidden)
        self._left_out = max(0, len(paths) - MAX_FILES)
        if self._read is None:
            self._read = await asyncio.to_thread(self._kept)
        read = self._read
        stamps = await asyncio.to_thread(stamps_of, self._root, paths[:MAX_FILES], MAX_BYTES)
        for path in [path for path in read if path not in stamps]:
            del read[path]
        changed = [path for path, stamp in stamps.items() if path not in read or read[path].stamp != stamp]
        if not changed:
            return
        await asyncio.to_thread(self._read_files, changed, stamps)
        await asyncio.to_thread(self._keep)

    def _read_files(self, paths: Sequence[str], stamps: Mapping[str, FileStamp]) -> None:
        """Read files with all readers at once; what cannot be read has no symbols."""
        assert self._read is not None
        read = self._read
        waiting = iter(paths)  # `next` of an iterator is atomic, so each path is taken once

        def work() -> None:
            reader = SymbolReader()
            try:
                for path in waiting:
                    if self._is_closed:
                        return
                    read[path] = IndexedFile(stamps[path], self._symbols(reader, path))
            finally:
                reader.end()

        with ThreadPoolExecutor(READERS, thread_name_prefix="symbols") as pool:
            for each in [pool.submit(work) for _ in range(min(READERS, len(paths)))]:
                each.result()

    def _symbols(self, reader: SymbolReader, path: str) -> FileSymbols:
        try:
            data = self._files.read(path, max_bytes=MAX_BYTES).data
        except (FileProblem, OSError):
            return FileSymbols()
        return reader.symbols(path, data) or FileSymbols()

    def _kept(self) -> dict[str, IndexedFile]:
        if self._kept_in is None:
            return {}
        try:
            kept = msgspec.msgpack.decode(read_file(self._kept_in, follow=False, most=MAX_KEPT_BYTES), type=KeptIndex)
        except (OSError, msgspec.DecodeError):
            return {}
        return kept.files if (kept.reading, kept.root) == (READING, str(self._root)) else {}

    def _keep(self) -> None:
        """Write the index; if that fails, the next session reads the files again."""
        if self._kept_in is None or self._read is None or self._is_closed:
            return
        data = msgspec.msgpack.encode(KeptIndex(READING, str(self._root), self._read))
        with suppress(OSError):
            make_private_directory(self._kept_in.parent)
            draft = self._kept_in.with_suffix(f".{os.getpid()}.draft")
            try:
                draft.write_bytes(data)
                draft.replace(self._kept_in)
            finally:
                draft.unlink(missing_ok=True)


def _digest(root: Path) -> str:
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
