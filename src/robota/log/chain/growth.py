"""Reads parts of a log in bounded memory: what was added since the last time, its end, or records of some kinds."""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.reader import MAX_LINE_BYTES, MAX_SKIPPED_BYTES, next_line, open_log, skip_short_lines
from robota.log.record import HASH_LENGTH, SEAL_LENGTH, Record, unseal

SEAL_END: Final = b'"}\n'
# A line that is long enough for a record.
LONG_LINE: Final = re.compile(rb"[^\n]{%d,}" % SEAL_LENGTH)
SEARCHED_AT_ONCE: Final = 256 * 1024


class LogPosition(msgspec.Struct, frozen=True):
    """The end of a valid record: its offset in the file, and the hash of that record."""

    offset: int = 0
    hash: str = ""


class GrownRecord(msgspec.Struct, frozen=True, gc=False):
    """A record and the position after it."""

    record: Record
    position: LogPosition


def records_since(path: Path, position: LogPosition, max_bytes: int = sys.maxsize) -> Iterator[GrownRecord]:
    """The valid records after a position that `continues` has confirmed. An unfinished line is left for later.

    With `max_bytes`, only records that start within that many bytes. Raises `LogUnreadable` if the file cannot be
    opened, OSError if it cannot be read.
    """
    with open_log(path) as stream:
        stream.seek(position.offset)
        yield from _records(stream, position.offset, max_bytes)


def last_records(path: Path, max_bytes: int, after: int = 0) -> list[Record]:
    """The valid records in the last `max_bytes` of a log and after the offset `after`.

    Raises like `records_since`.
    """
    with open_log(path) as stream:
        stream.seek(max(after, stream.seek(0, os.SEEK_END) - max_bytes))
        lines = LONG_LINE.findall(stream.read(max_bytes))
    # The first line is usually incomplete, and therefore not a valid record.
    return [record for record in map(unseal, lines) if isinstance(record, Record)]


def position_before_end(path: Path, max_bytes: int) -> LogPosition:
    """A position at most `max_bytes` before the end, which needs no confirmation. Raises like `records_since`."""
    with open_log(path) as stream:
        start = stream.seek(0, os.SEEK_END) - max_bytes
        if start <= 0:
            return LogPosition()
        stream.seek(start)
        return LogPosition(start + next_line(stream)[1])


def continues(path: Path, position: LogPosition) -> bool:
    """Whether the log still has the record before the position, so that reading can continue from there."""
    if position.offset == 0:
        return True
    with open_log(path) as stream:
        ending = position.hash.encode() + SEAL_END
        stream.seek(max(0, position.offset - HASH_LENGTH - len(SEAL_END)))
        return stream.read(len(ending)) == ending


def records_of(log: Path, kinds: Sequence[str], start: int = 0) -> Iterator[Record]:
    """The valid records of these kinds after an offset, which must be the start of a line. Raises like `records_since`.

    For rare kinds: the raw bytes are searched, and only lines that may be such records are decoded.
    """
    marks = [b'"kind":"%s"' % kind.encode() for kind in kinds]
    for line in _lines_with(log, start, marks):
        record = unseal(line)
        if isinstance(record, Record) and record.kind in kinds:
            yield record


def _lines_with(log: Path, start: int, marks: Sequence[bytes]) -> Iterator[bytes]:
    """The lines, without line ends, that contain one of the marks."""
    with open_log(log) as stream:
        stream.seek(start)
        while block := stream.read(SEARCHED_AT_ONCE):
            if not block.endswith(b"\n"):
                block += next_line(stream)[0]
            if any(mark in block for mark in marks):
                for line in block.split(b"\n"):
                    if len(line) < MAX_LINE_BYTES and any(mark in line for mark in marks):
                        yield line


def _records(stream: BufferedReader, offset: int, max_bytes: int) -> Iterator[GrownRecord]:
    end = offset + max_bytes
    while offset < end:
        line, length = next_line(stream, min(max_bytes, MAX_SKIPPED_BYTES))
        if not line.endswith(b"\n"):
            return
        offset += length
        record = unseal(line[:-1])
        if isinstance(record, Record):
            yield GrownRecord(record, LogPosition(offset, record.hash))
        else:
            offset += skip_short_lines(stream)[1]
