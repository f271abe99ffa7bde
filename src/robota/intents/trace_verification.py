"""Verifies the chain of the trace: finds lines that were edited, dropped, moved or added by hand."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from robota.intents.trace_record import FIRST, content_hash, decoded, ours_of


class TraceFault(StrEnum):
    """The kind of fault at a line of the trace."""

    EDITED = "edited"  # the line before has the expected number but another hash
    DROPPED = "dropped"  # records before it are missing
    MOVED = "moved"  # it is after records that were written later
    CUT = "cut"  # the last record of this machine is missing or was changed
    UNREADABLE = "unreadable"  # it is not one JSON object: a partial line, or two objects


class TraceFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault and the line that shows it, counted from 1."""

    line: int
    fault: TraceFault
    text: str


class VerifiedTrace(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a trace. `foreign` lines are those of other tools, which have no chain.

    `merged` is how often records follow an earlier one than the line before them: two worktrees wrote their own trace,
    and git put both into one.
    """

    records: int = 0
    foreign: int = 0
    merged: int = 0
    head: str = FIRST
    findings: tuple[TraceFinding, ...] = ()


def verify_trace(lines: Iterable[bytes], newest: str | None = None) -> VerifiedTrace:
    """Check every line once. A trace without findings is intact up to its `head`.

    `newest` is the hash of the last line that this machine wrote, if it is known: others may have added to it.
    """
    chain = _Chain()
    findings = [finding for number, line in enumerate(lines, 1) for finding in chain.follow(number, line.rstrip(b"\n"))]
    findings += [chain.explained(orphan) for orphan in chain.orphans]
    if newest is not None and newest not in chain.numbers:
        text = "the newest record that this machine wrote is not in the file: its end was cut off or changed"
        findings.append(TraceFinding(line=chain.lines, fault=TraceFault.CUT, text=text))
    return VerifiedTrace(
        records=chain.records,
        foreign=chain.foreign,
        merged=chain.merged,
        head=chain.previous,
        findings=tuple(sorted(findings, key=lambda finding: finding.line)),
    )


class _Orphan(msgspec.Struct, frozen=True, kw_only=True):
    """A record whose predecessor is not before it; `last` is the number of the record that is."""

    line: int
    number: int
    previous: str
    last: int


class _Chain:
    """The state of the verification. `numbers` maps the hash of each line to the number of records up to it."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {FIRST: 0}
        self.orphans: list[_Orphan] = []
        self.lines = 0
        self.previous = FIRST
        self.last = 0
        self.records = 0
        self.foreign = 0
        self.merged = 0

    def follow(self, line: int, data: bytes) -> Iterator[TraceFinding]:
        """Check the next line."""
        self.lines = line
        if not data:
            return
        record = decoded(data)
        digest = content_hash(data)
        if digest in self.numbers:
            yield TraceFinding(line=line, fault=TraceFault.MOVED, text="this record stands in the trace twice")
        elif record is None:
            text = "this is no record; a writer may have been killed here"
            yield TraceFinding(line=line, fault=TraceFault.UNREADABLE, text=text)
        elif ours := ours_of(record):
            yield from self._judge(line, ours)
            self.records += 1
        else:
            self.foreign += 1
        self.previous = digest
        self.numbers[digest] = self.last

    def _judge(self, line: int, ours: dict[str, Any]) -> Iterator[TraceFinding]:
        number, previous = ours.get("number"), ours.get("prev_record_hash")
        if not isinstance(number, int) or not isinstance(previous, str):
            yield TraceFinding(line=line, fault=TraceFault.EDITED, text="this record has no number or no predecessor")
            return
        before = self.numbers.get(previous)
        if before is None:
            self.orphans.append(_Orphan(line=line, number=number, previous=previous, last=self.last))
        elif number != before + 1:
            text = f"this is number {number}, where {before + 1} belongs"
            yield TraceFinding(line=line, fault=TraceFault.EDITED, text=text)
        else:
            self.merged += previous != self.previous
        self.last = number

    def explained(self, orphan: _Orphan) -> TraceFinding:
        """The fault of an orphan, known at the end: its predecessor was moved, deleted or edited."""
        if orphan.previous in self.numbers:
            text, fault = "the record that this one follows stands behind it", TraceFault.MOVED
        elif orphan.number > orphan.last + 1:
            text, fault = f"record {orphan.last + 1} is missing; this is number {orphan.number}", TraceFault.DROPPED
        else:
            text, fault = "the line before this one is not what it was when this was written", TraceFault.EDITED
        return TraceFinding(line=orphan.line, fault=fault, text=text)
