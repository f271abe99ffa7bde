"""What running a command costs, against `subprocess` alone, and what a flood of output does to memory and the loop."""

import asyncio
import statistics
import subprocess
import time
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from robota.workspace.process.processes import LocalProcesses

RUNS = 200
FLOOD = str(Path(__file__).with_name("command_flood.py"))
FLOOR = ["/bin/bash", "-c", "true"]


def commands(bench: Bench) -> list[Measurement]:
    mine, least = asyncio.run(times_ms(bench.workspace))
    flood = bench.python(FLOOD)
    pause = float(flood.output) * 1000
    return [
        Measurement(
            name="running a command, more than subprocess",
            value=mine - least,
            target=10,
            unit="ms",
            detail=f"{mine:.1f} ms - {least:.1f} ms, medians of {RUNS}",
        ),
        Measurement(name="1 GB of output, memory", value=flood.peak_mb, target=100, unit="MB", detail="peak"),
        Measurement(name="1 GB of output, pause", value=pause, target=50, unit="ms", detail="longest of the loop"),
    ]


async def times_ms(cwd: Path) -> tuple[float, float]:
    """Medians of ours and of `subprocess`, in turn; the first of each warms up."""
    processes = LocalProcesses()
    ours: list[float] = []
    floor: list[float] = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        await processes.run("true", cwd, None, lambda _: None)
        between = time.perf_counter()
        subprocess.run(FLOOR, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=True)  # noqa: ASYNC221
        floor.append(time.perf_counter() - between)
        ours.append(between - start)
    processes.close()
    return statistics.median(ours[1:]) * 1000, statistics.median(floor[1:]) * 1000
