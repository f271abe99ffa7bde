"""Checkpoints of trees of 10,000 and 100,000 files against `git status`, and restoring against `git checkout`."""

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.processes import Cost, alternate
from robota.workspace.checkpoints.rewind import carry_out, plan_restore
from robota.workspace.checkpoints.store import CheckpointStore

ROUNDS = 3
SIZES = (10_000, 100_000)
RESTORED = (100, 1_000)
FILES_IN_EACH = 100
TEXT = "".join(f"line {number} of something like source code\n" for number in range(20))
STATUS = ("git", "status", "--porcelain")


def checkpoints(bench: Bench) -> list[Measurement]:
    """After the first checkpoint of a tree: with nothing changed, with a file changed, and taking files back."""
    return [row for size in SIZES for row in _of_tree(bench.home.parent / f"tree-{size}", size)]


def _of_tree(tree: Path, size: int) -> list[Measurement]:
    _make(tree, size)
    store = CheckpointStore(tree.parent / f"store-{size}", tree, os.environ)
    store.capture()
    same, status = alternate(ROUNDS, lambda: _timed(store.capture), lambda: _timed(lambda: _git(tree, *STATUS)))
    changed, status_again = alternate(
        ROUNDS, lambda: _after_change(tree, store.capture), lambda: _timed(lambda: _git(tree, *STATUS))
    )
    files = RESTORED[SIZES.index(size)]
    restored, checked_out = alternate(ROUNDS, lambda: _restored(tree, store, files), lambda: _checked_out(tree, files))
    return [
        _ratio(f"checkpoint, nothing changed / git status, {size:,} files", same, status, 1.5),
        _ratio(f"checkpoint, a file changed / git status, {size:,} files", changed, status_again, 1.5),
        _ratio(f"restore of {files:,} files / git checkout, {size:,} files", restored, checked_out, 4),
    ]


def _make(tree: Path, size: int) -> None:
    for directory in range(size // FILES_IN_EACH):
        place = tree / f"group{directory % 20}" / f"part{directory}"
        place.mkdir(parents=True)
        for file in range(FILES_IN_EACH):
            (place / f"file{file}.py").write_text(f"# {directory}.{file}\n{TEXT}")
    _git(tree, "git", "init", "-q")
    # No `git gc` in the background: it would still write while the directory is removed.
    _git(tree, "git", "config", "gc.auto", "0")
    _git(tree, "git", "config", "maintenance.auto", "false")
    _git(tree, "git", "add", "-A")
    _git(tree, "git", "-c", "user.name=b", "-c", "user.email=b@invalid", "commit", "-qm", "all")


def _after_change(tree: Path, capture: Callable[[], object]) -> Cost:
    _change(tree, 1)
    return _timed(capture)


def _restored(tree: Path, store: CheckpointStore, files: int) -> Cost:
    before = store.capture().id
    _change(tree, files)
    return _timed(lambda: carry_out(store, plan_restore(store, before)))


def _checked_out(tree: Path, files: int) -> Cost:
    _change(tree, files)
    return _timed(lambda: _git(tree, "git", "checkout", "-q", "--", "."))


def _change(tree: Path, files: int) -> None:
    for number in range(files):
        directory, file = divmod(number, FILES_IN_EACH)
        (tree / f"group{directory % 20}" / f"part{directory}" / f"file{file}.py").write_text(f"{time.time_ns()}\n")


def _git(tree: Path, *command: str) -> None:
    subprocess.run(command, cwd=tree, check=True, capture_output=True)


def _timed(work: Callable[[], object]) -> Cost:
    """Processor time counts, of the programs that were started, too: they run one after the other."""
    start = _cpu_s()
    work()
    return Cost(wall_s=0, cpu_s=_cpu_s() - start, peak_mb=0, output="")


def _cpu_s() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _ratio(name: str, ours: list[Cost], floor: list[Cost], target: float) -> Measurement:
    mine, least = (statistics.median(cost.cpu_s for cost in costs) * 1000 for costs in (ours, floor))
    detail = f"{mine:.0f} ms / {least:.0f} ms of processor time, medians of {len(ours)}"
    return Measurement(name=name, value=mine / least, target=target, unit="x", detail=detail)
