"""The trace of what agents changed: verifying a long one, and whether appending slows down as it grows."""

import statistics
from pathlib import Path
from time import perf_counter

import msgspec

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from robota.app.intents import intent_directories
from robota.intents.trace_file import TraceFile
from robota.intents.trace_record import (
    FIRST,
    TracedChange,
    TracedLines,
    TraceLink,
    TraceOrigin,
    content_hash,
    trace_record,
)
from robota.intents.trace_verification import verify_trace

SHORT, LONG = 1_000, 100_000
APPENDED = 50
LOOKS = 1_000
LINES = TracedLines(start_line=1, end_line=9, content_hash=FIRST)
CHANGE = TracedChange(path="src/a.py", before_hash=FIRST, after_hash=FIRST, lines=(LINES,))
ORIGIN = TraceOrigin(
    session_id="session", log_url="file:///log", model="model", call_id="call", tool="edit_file", intent_id="INT-001",
    approval="in_scope",
)  # fmt: skip


def intents(bench: Bench) -> list[Measurement]:
    """Two traces, one a hundred times as long as the other."""
    short, long = (_trace(bench.workspace / str(records), records) for records in (SHORT, LONG))
    started = perf_counter()
    with long.path.open("rb") as file:
        verified = verify_trace(file)
    took = perf_counter() - started
    assert verified.records == LONG and not verified.findings
    early, late = _append_ms(short), _append_ms(long)
    return [
        Measurement(name=f"verify {LONG:,} trace records", value=took, target=5, unit="s", detail=""),
        Measurement(
            name="append to the trace, a hundred times as long",
            value=late / early,
            target=1.5,
            unit="x",
            detail=f"{early:.2f} and {late:.2f} ms, medians of {APPENDED}",
        ),
        Measurement(
            name="a session in a workspace without intents",
            value=_without_intents_ms(bench.workspace),
            target=0.2,
            unit="ms",
            detail="what the layer costs it; its calls pass no hook",
        ),
    ]


def _without_intents_ms(workspace: Path) -> float:
    started = perf_counter()
    for _ in range(LOOKS):
        assert intent_directories(workspace) is None
    return (perf_counter() - started) * 1000 / LOOKS


def _trace(root: Path, records: int) -> TraceFile:
    (root / ".orchestration").mkdir(parents=True)
    trace = TraceFile(root, lambda: "2026-01-01T00:00:00Z")
    previous = FIRST
    with trace.path.open("wb") as file:
        for number in range(1, records + 1):
            link = TraceLink(number=number, previous=previous)
            line = msgspec.json.encode(trace_record("id", "2026-01-01T00:00:00Z", CHANGE, ORIGIN, link))
            previous = content_hash(line)
            file.write(line + b"\n")
    return trace


def _append_ms(trace: TraceFile) -> float:
    times: list[float] = []
    for _ in range(APPENDED):
        started = perf_counter()
        trace.append(CHANGE, ORIGIN)
        times.append(perf_counter() - started)
    return statistics.median(times) * 1000
