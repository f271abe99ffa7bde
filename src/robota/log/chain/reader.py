"""Loads a log in any condition: returns the valid records and reports the rest."""

import os
import re
import stat
from collections.abc import Callable
from enum import StrEnum
from io import BufferedReader
from pathlib import Path
from typing import Final

import msgspec

from robota.log.errors import LogUnreadable
from robota.log.kinds.requests import ContentRecord
from robota.log.record import FIRST_PREV, SEAL_LENGTH, Record, RecordFlaw, link_flaw, payload_of, unseal

LOG_NAME: Final = "log.jsonl"
# No record that Robota writes is longer. Anything longer is damage and must not fill memory.
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
# Gigabytes without a line break were not written by Robota, and reading on would take too long.
MAX_SKIPPED_BYTES: Final = 4 * MAX_LINE_BYTES
SKIPPED_AT_ONCE: Final = 1024 * 1024
# Lines too short for a record. A file may have millions of them, so they are not looked at one by one.
SHORT_LINES: Final = re.compile(rb"(?:[^\n]{0,%d}\n)+" % (SEAL_LENGTH - 1))
# A file that is not a log would report a problem for every line.
MAX_PROBLEMS: Final = 1_000


class LineSpan(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The position of lines in the file: the offset of the first byte, and the one after the last byte."""

    start: int
    end: int


TakeRecord = Callable[[Record, LineSpan], object]


class Handling(StrEnum):
    """How a flaw was handled on loading. None of these changes the file."""

    SKIPPED = "skipped"
    KEPT = "kept"
    DROPPED = "dropped"


class LoadProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A line that was changed or moved after it was written."""

    line: int
    flaw: RecordFlaw
    handling: Handling
    seq: int | None = None

    @property
    def text(self) -> str:
        record = "" if self.seq is None else f" (record {self.seq})"
        return f"Line {self.line} of the log{record}: {self.flaw}; {self.handling}."


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The valid records in file order, and the state needed to continue the log.

    `good_length` is the end of the last valid record, including its newline if it has one, and `good_line` its line.
    `length` is that of the whole file: the bytes in between are damage at the end. `texts` are the hashes of the texts
    that the log holds for other records.
    """

    records: tuple[Record, ...] = ()
    problems: tuple[LoadProblem, ...] = ()
    head_hash: str = FIRST_PREV
    last_seq: int = 0
    last_ts: int = 0
    good_length: int = 0
    good_line: int = 0
    length: int = 0
    is_terminated: bool = True
    texts: frozenset[str] = frozenset()


def load(path: Path) -> Loaded:
    """Read a log. Only a file that cannot be read raises an error, never its content."""
    records: list[Record] = []
    scanned = scan(path, lambda record, _: records.append(record))
    return msgspec.structs.replace(scanned, records=tuple(records))


def scan(path: Path, take: TakeRecord, after: Loaded | None = None) -> Loaded:
    """Like `load`, but passes each valid record to `take` instead of holding them all in memory.

    With `after`, the result of an earlier scan, only what follows its last valid record is read.
    """
    reading = _Reading(take, after or Loaded())
    try:
        with open_log(path) as stream:
            stream.seek(reading.length)
            while (read := next_line(stream))[1]:
                is_record = reading.take(*read)
                if not read[0].endswith(b"\n"):
                    break
                if not is_record:
                    reading.skip(*skip_short_lines(stream))
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    return reading.loaded()


def next_line(stream: BufferedReader, skipped: int = MAX_SKIPPED_BYTES) -> tuple[bytes, int]:
    """The next line and its length, 0 at the end. For a line that is too long for a record, only its end is returned.

    At most `skipped` bytes of such a line are read; then the result has no newline, and reading stops there.
    """
    line = stream.readline(MAX_LINE_BYTES)
    length = len(line)
    if length < MAX_LINE_BYTES or line.endswith(b"\n"):
        return line, length
    piece = line = b""
    while length < skipped and not piece.endswith(b"\n") and (piece := stream.readline(SKIPPED_AT_ONCE)):
        length += len(piece)
    return (b"\n" if piece.endswith(b"\n") else b"?"), length


def skip_short_lines(stream: BufferedReader) -> tuple[int, int]:
    """Skip the lines, up to the next one that may be a record. Returns how many they are, and their length."""
    lines = length = 0
    while run := SHORT_LINES.match(stream.peek()):
        lines += run[0].count(b"\n")
        length += len(stream.read(run.end()))
    return lines, length


def open_log(path: Path) -> BufferedReader:
    """Open the log for reading if it is a regular file: a pipe or a device could block or never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _unreadable(path, "it is not a regular file")
    return os.fdopen(descriptor, "rb")


def _unreadable(path: Path, reason: str) -> LogUnreadable:
    return LogUnreadable(
        f"Cannot read the session log {path}: {reason}. Nothing was changed. Check the path and its mode."
    )


class _Reading:
    """The state of one pass over a log."""

    def __init__(self, take: TakeRecord, after: Loaded) -> None:
        self.hand_over = take
        self.head_hash = after.head_hash
        self.last_seq = after.last_seq
        self.texts = set(after.texts)
        self.problems = [problem for problem in after.problems if problem.line <= after.good_line]
        self.line = self.good_line = after.good_line
        self.length = self.good_length = after.good_length
        self.last_ts = after.last_ts
        self.is_terminated = after.is_terminated
        self.after_gap = False

    def take(self, raw: bytes, length: int) -> bool:
        """Take the next line. Returns whether it is a valid record."""
        self.line += 1
        self.length += length
        is_terminated = raw.endswith(b"\n")
        record = unseal(raw[:-1] if is_terminated else raw)
        if isinstance(record, Record):
            self._take_record(record, length, is_terminated)
        elif is_terminated:
            self._report(record, Handling.SKIPPED)
            self.after_gap = True
        else:
            self._report(RecordFlaw.TORN_TAIL, Handling.DROPPED)
        return isinstance(record, Record)

    def skip(self, lines: int, length: int) -> None:
        """Skip further invalid lines after an invalid one."""
        first = self.line + 1
        self.line += lines
        self.length += length
        for line in range(first, min(self.line + 1, first + MAX_PROBLEMS - len(self.problems))):
            self.problems.append(LoadProblem(line=line, flaw=RecordFlaw.BAD_JSON, handling=Handling.SKIPPED))

    def _take_record(self, record: Record, length: int, is_terminated: bool) -> None:
        # A skipped line was already reported, so the missing link after it is not reported again.
        flaw = None if self.after_gap else link_flaw(record, self.head_hash, self.last_seq)
        if flaw is not None:
            self._report(flaw, Handling.KEPT, record.seq)
        self.after_gap = False
        if record.kind == "content":
            self._note_text(record)
        self.head_hash = record.hash
        self.last_seq = record.seq
        self.last_ts = max(self.last_ts, record.ts)
        span = LineSpan(self.length - length, self.length)
        self.good_length = self.length
        self.good_line = self.line
        self.is_terminated = is_terminated
        self.hand_over(record, span)

    def _note_text(self, record: Record) -> None:
        payload = payload_of(record)
        if isinstance(payload, ContentRecord):
            self.texts.add(payload.hash)

    def _report(self, flaw: RecordFlaw, handling: Handling, seq: int | None = None) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(LoadProblem(line=self.line, flaw=flaw, handling=handling, seq=seq))

    def loaded(self) -> Loaded:
        return Loaded(
            problems=tuple(self.problems),
            head_hash=self.head_hash,
            last_seq=self.last_seq,
            last_ts=self.last_ts,
            good_length=self.good_length,
            good_line=self.good_line,
            length=self.length,
            is_terminated=self.is_terminated,
            texts=frozenset(self.texts),
        )
