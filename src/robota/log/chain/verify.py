"""Walk the chain of a log strictly, and name the first record that breaks it."""

from pathlib import Path

import msgspec

from robota.log.chain.reader import open_log
from robota.log.chain.record import FIRST_PREV, Flaw, Record, link_flaw, unseal
from robota.log.errors import LogUnreadable


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """The first record that is not as it was written. `seq` is its number, or the one it should have had."""

    line: int
    seq: int
    flaw: Flaw

    @property
    def explanation(self) -> str:
        return EXPLANATIONS[self.flaw]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """`records` and `head_hash` are those of the unbroken part."""

    records: int
    head_hash: str
    broken: Break | None = None


EXPLANATIONS = {
    Flaw.BAD_JSON: "the line is not a record",
    Flaw.BAD_HASH: "the record was changed after it was written",
    Flaw.WRONG_PREV: "the record does not follow the one before it: records were removed, added or reordered",
    Flaw.WRONG_SEQ: "the record does not have the next number",
    Flaw.TORN_TAIL: "the last record is incomplete: its writer was stopped in the middle",
}


def verify(path: Path) -> Report:
    """Check every record up to the first broken one. Reads only."""
    head_hash, seq, line_number = FIRST_PREV, 0, 0
    try:
        with open_log(path) as stream:
            for line_number, line in enumerate(stream, start=1):
                record = _next_record(line, head_hash, seq)
                if isinstance(record, Break):
                    found = msgspec.structs.replace(record, line=line_number)
                    return Report(records=line_number - 1, head_hash=head_hash, broken=found)
                head_hash, seq = record.hash, record.seq
    except OSError as error:
        raise LogUnreadable(f"Cannot read {path} to its end: {error.strerror}. Nothing was changed.") from error
    return Report(records=line_number, head_hash=head_hash)


def _next_record(line: bytes, head_hash: str, seq: int) -> Record | Break:
    if not line.endswith(b"\n"):
        return Break(line=0, seq=seq + 1, flaw=Flaw.TORN_TAIL)
    record = unseal(line[:-1])
    if isinstance(record, Flaw):
        return Break(line=0, seq=seq + 1, flaw=record)
    flaw = link_flaw(record, head_hash, seq)
    return record if flaw is None else Break(line=0, seq=record.seq, flaw=flaw)
