"""Run a command and say what it cost, as the kernel saw it."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

LAUNCHER = str(Path(__file__).with_name("launcher.py"))


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Of one process: seconds on the clock, seconds of CPU, largest resident size."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    output: str


class CommandFailedError(RuntimeError):
    """A side of a benchmark did not do its work, so its time means nothing."""


def measure(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Cost:
    """Run to the end; anything but exit code 0 is an error."""
    output, report = cwd / ".benchmark-output", cwd / ".benchmark-cost"
    with output.open("wb") as out:
        launcher = [sys.executable, "-I", "-S", LAUNCHER, str(report), *command]
        subprocess.run(launcher, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=True)
    code, wall_s, cpu_s, peak_kb = map(float, report.read_text().split())
    text = output.read_text(errors="replace")
    if code != 0:
        raise CommandFailedError(f"{' '.join(command)} ended with {code:g}:\n{text[-2000:]}")
    return Cost(wall_s=wall_s, cpu_s=cpu_s, peak_mb=peak_kb / 1024, output=text)


def line_times(command: Sequence[str], cwd: Path, env: Mapping[str, str], wanted: bytes) -> list[float]:
    """When each line of output that holds `wanted` came, in seconds of a clock that only runs forwards."""
    with subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        times = [time.perf_counter() for line in process.stdout if wanted in line]
    if process.returncode != 0:
        raise CommandFailedError(f"{' '.join(command)} ended with {process.returncode}")
    return times


def alternate(rounds: int, *sides: Callable[[], Cost]) -> list[list[Cost]]:
    """Run the sides in turn, so that a busy moment of the machine hits all of them; the first round warms up."""
    costs: list[list[Cost]] = [[] for _ in sides]
    for count in range(rounds + 1):
        for kept, side in zip(costs, sides, strict=True):
            cost = side()
            if count:
                kept.append(cost)
    return costs


def median_wall_ms(costs: Sequence[Cost]) -> float:
    return statistics.median(cost.wall_s for cost in costs) * 1000


def median_cpu_ms(costs: Sequence[Cost]) -> float:
    return statistics.median(cost.cpu_s for cost in costs) * 1000
