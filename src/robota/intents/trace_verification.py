"""Whether the trace is as it was written: what was edited, dropped, moved or added by hand."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from robota.intents.trace_record import FIRST, content_hash, decoded, ours_of


class TraceFault(StrEnum):
    """What is wrong at a line of the trace."""

    EDITED = "edited"  # the line before it is not the one that it follows, but has its number
    DROPPED = "dropped"  # records before it are missing
    MOVED = "moved"  # it stands after records that came later
    CUT = "cut"  # the last record that this machine wrote is not there, or was changed
    UNREADABLE = "unreadable"  # it is no JSON object: half a line, or two objects in one


class TraceFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A fault and the line that shows it, counted from 1."""

    line: int
    fault: TraceFault
    text: str


class VerifiedTrace(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a trace. `foreign` lines are those of other tools, which have no chain."""

    records: int = 0
    foreign: int = 0
    head: str = FIRST
    findings: tuple[TraceFinding, ...] = ()


def verify_trace(lines: Iterable[bytes], newest: str | None = None) -> VerifiedTrace:
    """Look at every line once. A trace without findings is the one that was written, up to its `head`.

    `newest` is the hash of the last line that this machine wrote, if it is known: others may have added to it.
    """
    chain = _Chain(newest)
    findings = [finding for number, line in enumerate(lines, 1) for finding in chain.follow(number, line.rstrip(b"\n"))]
    if not chain.has_newest:
        text = "the newest record that this machine wrote is not in the file: its end was cut off or changed"
        findings.append(TraceFinding(line=chain.lines, fault=TraceFault.CUT, text=text))
    return VerifiedTrace(records=chain.records, foreign=chain.foreign, head=chain.previous, findings=tuple(findings))


class _Chain:
    """How far the trace has been followed: the hash of the last line, and the number of the last record of ours."""

    def __init__(self, newest: str | None) -> None:
        self._newest = newest
        self.has_newest = newest is None
        self.lines = 0
        self.previous = FIRST
        self.last = 0
        self.records = 0
        self.foreign = 0

    def follow(self, line: int, data: bytes) -> Iterator[TraceFinding]:
        """Go on by one line."""
        record = decoded(data) if data else {}
        if record is None:
            text = "this is no record; a writer may have been killed here"
            yield TraceFinding(line=line, fault=TraceFault.UNREADABLE, text=text)
        elif ours := ours_of(record):
            yield from self._judge(line, ours)
            self.records += 1
        else:
            self.foreign += bool(data)
        self.lines = line
        if data:
            self.previous = content_hash(data)
            self.has_newest |= self.previous == self._newest

    def _judge(self, line: int, ours: dict[str, Any]) -> Iterator[TraceFinding]:
        number, previous = ours.get("number"), ours.get("prev_record_hash")
        expected, self.last = self.last + 1, number if isinstance(number, int) else self.last + 1
        if number != expected and isinstance(number, int) and number > expected:
            yield TraceFinding(
                line=line, fault=TraceFault.DROPPED, text=f"record {expected} is missing; this is number {number}"
            )
        elif number != expected:
            yield TraceFinding(
                line=line, fault=TraceFault.MOVED, text=f"this is number {number}, where {expected} belongs"
            )
        elif previous != self.previous:
            yield TraceFinding(
                line=line,
                fault=TraceFault.EDITED,
                text="the line before this one is not what it was when this was written",
            )
