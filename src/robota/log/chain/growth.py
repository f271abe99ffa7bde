"""Reads what was added to a log since the last time, line by line and in bounded memory."""

import os
import sys
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.reader import MOST_SKIPPED, next_line, open_log
from robota.log.record import HASH_LENGTH, Record, unseal

SEAL_END: Final = b'"}\n'


class LogPosition(msgspec.Struct, frozen=True):
    """The end of a valid record: its offset in the file, and the hash of that record."""

    offset: int = 0
    hash: str = ""


class GrownRecord(msgspec.Struct, frozen=True, gc=False):
    """A record and the position after it."""

    record: Record
    position: LogPosition


def records_since(path: Path, position: LogPosition, most_bytes: int = sys.maxsize) -> Iterator[GrownRecord]:
    """The valid records after a position that `continues` has confirmed. An unfinished line is left for later.

    With `most_bytes`, only records that start within that many bytes. Raises `LogUnreadable` if the file cannot be
    opened, OSError if it cannot be read.
    """
    with open_log(path) as stream:
        stream.seek(position.offset)
        yield from _records(stream, position.offset, most_bytes)


def last_records(path: Path, most_bytes: int, after: int = 0) -> list[Record]:
    """The valid records in the last `most_bytes` of a log and after the offset `after`.

    Raises like `records_since`.
    """
    with open_log(path) as stream:
        stream.seek(max(after, stream.seek(0, os.SEEK_END) - most_bytes))
        lines = stream.read(most_bytes).split(b"\n")
    # The first line is usually incomplete, and therefore not a valid record.
    return [record for record in map(unseal, lines) if isinstance(record, Record)]


def position_before_end(path: Path, most_bytes: int) -> LogPosition:
    """A position at most `most_bytes` before the end, which needs no confirmation. Raises like `records_since`."""
    with open_log(path) as stream:
        start = stream.seek(0, os.SEEK_END) - most_bytes
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


def _records(stream: BufferedReader, offset: int, most_bytes: int) -> Iterator[GrownRecord]:
    end = offset + most_bytes
    while offset < end:
        line, length = next_line(stream, min(most_bytes, MOST_SKIPPED))
        if not line.endswith(b"\n"):
            return
        offset += length
        record = unseal(line[:-1])
        if isinstance(record, Record):
            yield GrownRecord(record, LogPosition(offset, record.hash))
