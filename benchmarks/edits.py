"""What an edit in a large file costs, against reading it and writing it as safely."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from tests.tools.workbench import Workbench

ROUNDS = 15
LINES = 200_000
TARGET = 3.0


def edits(bench: Bench) -> list[Measurement]:
    place = bench.workspace / "large.txt"
    place.write_text("".join(f"{number:07} a line of a large file, with some words in it\n" for number in range(LINES)))
    tools = Workbench(bench.workspace)
    tools.call("read_file", path=place.name, limit=1)
    ours: list[float] = []
    floor: list[float] = []
    for number in range(ROUNDS):
        floor.append(timed(partial(copy, place, place.with_name("copy.txt"))))
        change = {"path": place.name, "old_string": f"{LINES // 2 + number:07} a line", "new_string": "Changed"}
        ours.append(timed(partial(tools.call, "edit_file", **change)))
    mine, least = median(ours) * 1000, median(floor) * 1000
    detail = f"{mine:.0f} ms / {least:.0f} ms, medians of {ROUNDS}, {place.stat().st_size / 1e6:.0f} MB"
    return [Measurement(name="edit / read + write", value=mine / least, target=TARGET, unit="x", detail=detail)]


def copy(source: Path, target: Path) -> None:
    """Read, write beside, put in place, and see to it that all is on the disk."""
    draft = target.with_suffix(".tmp")
    with draft.open("wb", buffering=0) as file:
        file.write(source.read_bytes())
        os.fsync(file.fileno())
    draft.replace(target)
    directory = os.open(target.parent, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def timed(action: Callable[[], object]) -> float:
    started = perf_counter()
    action()
    return perf_counter() - started
