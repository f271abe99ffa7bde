"""Strictly verifies the chain of a log, and reports the first record that breaks it."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.head import ChainHead
from robota.log.chain.reader import next_line, open_log
from robota.log.errors import LogUnreadable
from robota.log.record import FIRST_PREV, Record, RecordFlaw, link_flaw, unseal

LINES_BETWEEN: Final = 10_000


class ChainBreak(msgspec.Struct, frozen=True, kw_only=True):
    """The first record that was changed after it was written. `seq` is its number, or the expected one."""

    line: int
    seq: int
    flaw: RecordFlaw

    @property
    def explanation(self) -> str:
        return EXPLANATIONS[self.flaw]


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """`records` and `head_hash` are those of the unbroken part."""

    records: int
    head_hash: str
    broken: ChainBreak | None = None


EXPLANATIONS = {
    RecordFlaw.BAD_JSON: "the line is not a record",
    RecordFlaw.BAD_HASH: "the record was changed after it was written",
    RecordFlaw.WRONG_PREV: "the record does not follow the one before it: records were removed, added or reordered",
    RecordFlaw.WRONG_SEQ: "the record does not have the next number",
    RecordFlaw.REWRITTEN: "the record is not the one that was noted outside the workspace: the log was rewritten",
    RecordFlaw.CUT_OFF: "a record that was noted outside the workspace is missing: the end of the log was removed",
    RecordFlaw.TORN_TAIL: "the last record is incomplete: its writer was stopped in the middle",
}


def verify(
    path: Path, noted: ChainHead | None = None, progress: Callable[[int], object] = lambda _: None
) -> VerifyReport:
    """Check every record up to the first broken one, read-only. `progress` is called with the offset from time to time.

    A chain that was truncated or completely rewritten is consistent; to detect that, `noted` is a record that it must
    contain.
    """
    head_hash, seq, line_number = FIRST_PREV, 0, 0
    try:
        with open_log(path) as stream:
            while line := next_line(stream)[0]:
                line_number += 1
                if not line_number % LINES_BETWEEN:
                    progress(stream.tell())
                record = _next_record(line, head_hash, seq, noted)
                if isinstance(record, ChainBreak):
                    at_line = msgspec.structs.replace(record, line=line_number)
                    return VerifyReport(records=line_number - 1, head_hash=head_hash, broken=at_line)
                head_hash, seq = record.hash, record.seq
    except OSError as error:
        raise LogUnreadable(f"Cannot read {path} to its end: {error.strerror}. Nothing was changed.") from error
    if noted is not None and seq < noted.seq:
        missing = ChainBreak(line=line_number + 1, seq=seq + 1, flaw=RecordFlaw.CUT_OFF)
        return VerifyReport(records=line_number, head_hash=head_hash, broken=missing)
    return VerifyReport(records=line_number, head_hash=head_hash)


def _next_record(line: bytes, head_hash: str, seq: int, noted: ChainHead | None) -> Record | ChainBreak:
    if not line.endswith(b"\n"):
        return ChainBreak(line=0, seq=seq + 1, flaw=RecordFlaw.TORN_TAIL)
    record = unseal(line[:-1])
    if isinstance(record, RecordFlaw):
        return ChainBreak(line=0, seq=seq + 1, flaw=record)
    flaw = link_flaw(record, head_hash, seq)
    if flaw is None and noted is not None and record.seq == noted.seq and record.hash != noted.hash:
        flaw = RecordFlaw.REWRITTEN
    return record if flaw is None else ChainBreak(line=0, seq=record.seq, flaw=flaw)
