"""How quickly robota starts, against the least that Python itself needs."""

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.processes import Cost, alternate, median_wall_ms

ROUNDS = 11
FLOOR_IMPORTS = "import asyncio, msgspec, httpx2"


def version(bench: Bench) -> list[Measurement]:
    ours, floor = alternate(ROUNDS, lambda: bench.robota("--version"), lambda: bench.python("-c", "pass"))
    return [ratio("--version / python -c pass", ours, floor, 2.5)]


def one_shot(bench: Bench) -> list[Measurement]:
    ours, floor = alternate(ROUNDS, lambda: bench.ask("hello"), lambda: bench.python("-c", FLOOR_IMPORTS))
    peak = max(cost.peak_mb for cost in ours)
    return [
        ratio(f"one-shot answer / {FLOOR_IMPORTS}", ours, floor, 1.6),
        Measurement(name="one-shot peak memory", value=peak, target=60, unit="MB", detail=f"largest of {ROUNDS} runs"),
    ]


def ratio(name: str, ours: list[Cost], floor: list[Cost], target: float) -> Measurement:
    mine, least = median_wall_ms(ours), median_wall_ms(floor)
    detail = f"{mine:.0f} ms / {least:.0f} ms, medians of {len(ours)}"
    return Measurement(name=name, value=mine / least, target=target, unit="x", detail=detail)
