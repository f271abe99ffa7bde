"""`.orchestration/agent_trace.jsonl`: appended to by several sessions at once, each line chained to the one before."""

import errno
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.config.durable_file import lock_in_time
from robota.config.transaction import transaction
from robota.intents.intent_files import DIRECTORY, open_plain
from robota.intents.trace_record import (
    FIRST,
    TracedChange,
    TraceLink,
    TraceOrigin,
    content_hash,
    decoded,
    ours_of,
    trace_record,
)

TRACE: Final = f"{DIRECTORY}/agent_trace.jsonl"
APPENDING: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT
# The size of the tail that is searched for the last record first. Only lines of other tools are longer.
FIRST_LOOK: Final = 32_768
FURTHEST_LOOK: Final = 64 * 1024 * 1024
MAX_LINE_LENGTH: Final = 16 * 1024 * 1024
MAX_HISTORY: Final = 5
HISTORY_BYTES: Final = 200_000


class TraceProblem(Exception):
    """The trace cannot be written. The message says why."""


class TraceFile:
    """The trace of a workspace."""

    def __init__(self, root: Path, timestamp: Callable[[], str], user_directory: Path | None = None) -> None:
        """The newest record is noted in `user_directory`, so that a truncated trace is noticed."""
        self._root = root
        self.path = root / TRACE
        self._timestamp = timestamp
        self._note = None if user_directory is None else newest_note(root, user_directory)

    def append(self, change: TracedChange, origin: TraceOrigin) -> None:
        """Append one record durably, chained to the last line, whichever process wrote that."""
        try:
            descriptor = open_plain(self._root, TRACE, APPENDING)
        except OSError as error:
            raise TraceProblem(f"{TRACE} cannot be opened: {error.strerror}") from error
        try:
            lock_in_time(descriptor)
            end = os.fstat(descriptor).st_size
            record = trace_record(str(uuid.uuid4()), self._timestamp(), change, origin, _link(descriptor, end))
            # Terminate the partial line of a killed writer; it is no record, but nothing is deleted.
            glue = b"" if end == 0 or os.pread(descriptor, 1, end - 1) == b"\n" else b"\n"
            line = msgspec.json.encode(record)
            _write_whole(descriptor, glue + line + b"\n", end)
            os.fsync(descriptor)
            self._remember(content_hash(line))
        except OSError as error:
            raise TraceProblem(f"{TRACE} cannot be written: {error.strerror}") from error
        finally:
            os.close(descriptor)

    def _remember(self, newest: str) -> None:
        """Note the newest record. A failure is ignored, because the trace itself is written."""
        if self._note is not None:
            with suppress(OSError), transaction(self._note.parent) as files:
                files.write(self._note.name, f"{newest}\n".encode())

    def newest(self) -> list[dict[str, Any]]:
        """The last records, from the tail of the file. Lines that are not JSON objects are skipped."""
        try:
            with os.fdopen(open_plain(self._root, TRACE), "rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - HISTORY_BYTES))
                lines = file.read().splitlines()
        except OSError:
            return []
        return [record for line in lines if (record := decoded(line)) is not None]


def trace_lines(root: Path) -> Iterator[bytes]:
    """The lines of the trace of a workspace, read through no link. Raises `OSError`.

    A repository may contain any file of this name: a line that is too long to be a record is an error too.
    """
    with os.fdopen(open_plain(root, TRACE), "rb") as file:
        while line := file.readline(MAX_LINE_LENGTH):
            if len(line) == MAX_LINE_LENGTH:
                raise OSError(errno.EFBIG, f"a line of it has more than {MAX_LINE_LENGTH >> 20} MiB")
            yield line


def newest_note(root: Path, user_directory: Path) -> Path:
    """The file with the hash of the newest record of a workspace."""
    return user_directory / "traces" / sha256(os.fsencode(root.resolve())).hexdigest()[:32]


def noted_newest(root: Path, user_directory: Path) -> str | None:
    """The hash of the newest record that this machine wrote in a workspace, if it wrote one."""
    try:
        return newest_note(root, user_directory).read_text("ascii").strip() or None
    except (OSError, ValueError):
        return None


def _write_whole(descriptor: int, data: bytes, end: int) -> None:
    """Write a line completely; truncate it again after a partial write."""
    try:
        written = os.write(descriptor, data)
        if written < len(data):
            raise OSError(28, "No space left on device")
    except OSError:
        os.ftruncate(descriptor, end)
        raise


def _link(descriptor: int, end: int) -> TraceLink:
    """The link of the next record: the hash of the last line, and the number after our last record."""
    length = FIRST_LOOK
    while True:
        start = max(0, end - length)
        lines = os.pread(descriptor, end - start, start).rstrip(b"\n").split(b"\n")
        # The first line of the tail may be partial.
        whole = lines if start == 0 else lines[1:]
        numbers = (ours_of(decoded(line) or {}).get("number") for line in reversed(whole))
        last = next((number for number in numbers if isinstance(number, int)), None)
        if last is not None or start == 0:
            return TraceLink(number=(last or 0) + 1, previous=content_hash(lines[-1]) if lines[-1] else FIRST)
        if length >= FURTHEST_LOOK:
            raise OSError(errno.EFBIG, f"its last {FURTHEST_LOOK >> 20} MiB hold no record")
        length *= 8


def history_of(trace: TraceFile, intent_id: str) -> list[str]:
    """The newest changes for an intent, one line each."""
    return [line for record in trace.newest() for line in _lines(record, intent_id)][-MAX_HISTORY:]


def _lines(record: dict[str, Any], intent_id: str) -> Iterator[str]:
    ours = ours_of(record) or record
    if ours.get("intent_id") != intent_id:
        return
    files = record.get("files")
    for file in files if isinstance(files, list) else []:
        path = (file.get("path") or file.get("relative_path")) if isinstance(file, dict) else None
        if isinstance(path, str):
            yield f"{str(record.get('timestamp', ''))[:25]} {str(ours.get('op', 'edit'))[:10]} {path[:300]}"
