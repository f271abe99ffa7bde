"""What an edit in a large file costs, against reading it and writing it as safely."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import msgspec

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from tests.tools.workbench import Workbench

ROUNDS = 15
LINES = 200_000


class Ending(msgspec.Struct, frozen=True):
    """How the lines of a file end, and how many times as long as copying the file an edit in it may take."""

    name: str
    text: str
    target: float


ENDINGS = (Ending("LF", "\n", 2.5), Ending("CRLF", "\r\n", 4.0))


def edits(bench: Bench) -> list[Measurement]:
    tools = Workbench(bench.workspace)
    return [measured(tools, name, call, ending) for ending in ENDINGS for name, call in CALLS.items()]


def measured(tools: Workbench, name: str, call: Callable[[str, int], dict[str, str]], ending: Ending) -> Measurement:
    place = tools.cwd / "large.txt"
    place.write_bytes("".join(f"{line(number)}{ending.text}" for number in range(LINES)).encode())
    tools.call("read_file", path=place.name, limit=1)
    ours: list[float] = []
    floor: list[float] = []
    for number in range(LINES // 2, LINES // 2 + ROUNDS):
        floor.append(timed(partial(copy, place, place.with_name("copy.txt"))))
        ours.append(timed(partial(tools.call, name, **call(place.name, number))))
    mine, least = median(ours) * 1000, median(floor) * 1000
    detail = f"{mine:.0f} ms / {least:.0f} ms, medians of {ROUNDS}, {place.stat().st_size / 1e6:.0f} MB"
    what = f"{name} / read + write, {ending.name}"
    return Measurement(name=what, value=mine / least, target=ending.target, unit="x", detail=detail)


def line(number: int) -> str:
    return f"{number:07} a line of a large file, with some words in it"


def text_edit(path: str, number: int) -> dict[str, str]:
    return {"path": path, "old_string": f"{number:07} a line", "new_string": "Changed"}


def diff_edit(path: str, number: int) -> dict[str, str]:
    diff = f"<<<<<<< SEARCH\n:start_line:{number + 1}\n-------\n{line(number)}\n=======\nChanged\n>>>>>>> REPLACE\n"
    return {"path": path, "diff": diff}


def patch_edit(path: str, number: int) -> dict[str, str]:
    change = f"@@\n-{line(number)}\n+Changed"
    return {"patch": f"*** Begin Patch\n*** Update File: {path}\n{change}\n*** End Patch\n"}


CALLS = {"edit_file": text_edit, "apply_diff": diff_edit, "apply_patch": patch_edit}


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
