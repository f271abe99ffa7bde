"""What a turn costs, and whether a long task costs more per turn than a short one."""

import itertools
import statistics
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.bench import MOST_TURNS, ROBOTA, Bench
from benchmarks.measurement import Measurement
from benchmarks.processes import line_times

MANY_TURNS = 1_000
SCRIPTED_TURNS = 300
SCRIPTED_RUNS = 5
ASSISTANT_LINE = b'"type":"assistant"'
WINDOW = 50
# Two medians of the same thing differ by this much on a busy machine.
NOISE = 1.3


def overhead(bench: Bench) -> list[Measurement]:
    """Time between the model's last byte and our next request, with a read tool in between."""
    short = bench.ask("hello")
    long = bench.ask(f"loop:{MANY_TURNS}")
    gaps = gaps_ms(bench.records())
    early, late = statistics.median(gaps[5:15]), statistics.median(gaps[-10:])
    growth = f"{short.peak_mb:.0f} MB one-shot, {long.peak_mb:.0f} MB after {MANY_TURNS} turns"
    return [
        Measurement(name="overhead at turn 10", value=early, target=5, unit="ms", detail="median of turns 5-15"),
        Measurement(
            name=f"overhead at turn {MANY_TURNS}", value=late, target=5, unit="ms", detail="median of the last 10 turns"
        ),
        Measurement(
            name=f"overhead, turn {MANY_TURNS} / turn 10",
            value=late / early,
            target=NOISE,
            unit="x",
            detail=f"{late:.2f} ms / {early:.2f} ms",
        ),
        Measurement(
            name=f"memory, {MANY_TURNS} turns / one-shot",
            value=long.peak_mb / short.peak_mb,
            target=NOISE,
            unit="x",
            detail=growth,
        ),
    ]


def gaps_ms(records: list[dict[str, Any]]) -> list[float]:
    """Client time between the end of one answer and the arrival of the next request."""
    main = [record for record in records if record.get("kind") == "main" and "t_end" in record]
    return [(after["t_arrive"] - before["t_end"]) * 1000 for before, after in itertools.pairwise(main)]


def scripted(bench: Bench) -> list[Measurement]:
    """A long task on the scripted model: time per turn at its end against its start."""
    bench.use({"type": "scripted", "model": "scripted", "options": {"script": str(write_script(bench.workspace))}})
    command = [ROBOTA, "-p", "Go.", "--output-format", "stream-json", "--verbose", "--max-turns", MOST_TURNS]
    runs = [line_times(command, bench.workspace, bench.env, ASSISTANT_LINE) for _ in range(SCRIPTED_RUNS)]
    first = statistics.median(times[WINDOW] - times[0] for times in runs) / WINDOW * 1000
    last = statistics.median(times[-1] - times[-1 - WINDOW] for times in runs) / WINDOW * 1000
    detail = f"{last:.2f} ms / {first:.2f} ms a turn, medians of {SCRIPTED_RUNS}"
    name = f"{SCRIPTED_TURNS} scripted turns, last {WINDOW} / first {WINDOW}"
    return [Measurement(name=name, value=last / first, target=NOISE, unit="x", detail=detail)]


def write_script(workspace: Path) -> Path:
    for count in range(SCRIPTED_TURNS + 1):
        (workspace / f"note{count}.txt").write_text(f"note {count}\n")
    call = {"name": "read_file", "arguments": {"path": "note{n}.txt"}}
    turns = [{"text": "Reading note {n}.", "calls": [call], "repeat": SCRIPTED_TURNS}, {"text": "Done."}]
    script = workspace / "script.json"
    script.write_bytes(msgspec.json.encode({"turns": turns}))
    return script
