"""`.orchestration/agent_trace.jsonl`: appended to by several sessions at once, each line chained to the one before."""

import fcntl
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.intents.intent_files import DIRECTORY
from robota.intents.trace_record import FIRST, VENDOR, TracedChange, TraceOrigin, content_hash, trace_record
from robota.version import VERSION

TRACE: Final = f"{DIRECTORY}/agent_trace.jsonl"
FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
# No line that we write is longer; of another's only its end is looked at.
LONGEST_LINE: Final = 1_000_000
MOST_HISTORY: Final = 5
HISTORY_BYTES: Final = 200_000


class TraceProblem(Exception):
    """The trace cannot be written. The message says why."""


class TraceFile:
    """The trace of a workspace."""

    def __init__(self, root: Path, timestamp: Callable[[], str]) -> None:
        self.path = root / TRACE
        self._timestamp = timestamp

    def append(self, change: TracedChange, origin: TraceOrigin) -> None:
        """Write one record, so that it is on the disk and follows the last one, whoever wrote that."""
        try:
            descriptor = os.open(self.path, FLAGS, 0o644)
        except OSError as error:
            raise TraceProblem(f"{TRACE} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            end = os.fstat(descriptor).st_size
            last = _last_line(descriptor, end)
            previous = content_hash(last) if last else FIRST
            record = trace_record(str(uuid.uuid4()), self._timestamp(), VERSION, change, origin, previous)
            # What a killed writer left of a line is closed first: it is no record, but nothing is taken away.
            glue = b"" if end == 0 or os.pread(descriptor, 1, end - 1) == b"\n" else b"\n"
            _write_whole(descriptor, glue + msgspec.json.encode(record) + b"\n", end)
            os.fsync(descriptor)
        except OSError as error:
            raise TraceProblem(f"{TRACE} cannot be written: {error.strerror}") from error
        finally:
            os.close(descriptor)

    def newest(self) -> list[dict[str, Any]]:
        """The last records, as far as they are at the end of the file. Lines that are no objects are passed over."""
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - HISTORY_BYTES))
                lines = file.read().splitlines()
        except OSError:
            return []
        return [record for line in lines if (record := decoded(line)) is not None]


def _write_whole(descriptor: int, data: bytes, end: int) -> None:
    """All of it or nothing: a part of a line is taken back."""
    try:
        written = os.write(descriptor, data)
        if written < len(data):
            raise OSError(28, "No space left on device")
    except OSError:
        os.ftruncate(descriptor, end)
        raise


def _last_line(descriptor: int, end: int) -> bytes:
    """The last line that has an end, or what stands after it."""
    start = max(0, end - LONGEST_LINE)
    tail = os.pread(descriptor, end - start, start).rstrip(b"\n")
    return tail.rsplit(b"\n", 1)[-1]


def decoded(line: bytes) -> dict[str, Any] | None:
    """A line as an object; None if it is none."""
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def history_of(trace: TraceFile, intent_id: str) -> list[str]:
    """The newest changes for an intent, one line each."""
    return [line for record in trace.newest() for line in _lines(record, intent_id)][-MOST_HISTORY:]


def _lines(record: dict[str, Any], intent_id: str) -> Iterator[str]:
    ours = _mapping(_mapping(record.get("metadata")).get(VENDOR)) or record
    if ours.get("intent_id") != intent_id:
        return
    files = record.get("files")
    for file in files if isinstance(files, list) else []:
        path = _mapping(file).get("path") or _mapping(file).get("relative_path")
        if isinstance(path, str):
            yield f"{str(record.get('timestamp', ''))[:25]} {str(ours.get('op', 'edit'))[:10]} {path[:300]}"


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
