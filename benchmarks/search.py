"""Searching and listing a tree of 50,000 files, against the programs that do nothing else."""

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from benchmarks.processes import Cost, alternate
from benchmarks.startup import ratio
from robota.tools.registry import builtin_tools, by_name
from robota.workspace.search.ripgrep import ripgrep_program
from tests.tools.workbench import Workbench

ROUNDS = 7
DIRECTORIES = 500
FILES_IN_EACH = 100
LINES = 40
# Rare enough to go through every file, common enough that there is something to show.
NEEDLE_EVERY = 500


def search(bench: Bench) -> list[Measurement]:
    tree = big_tree(bench.home.parent / "tree")
    tools = Workbench(tree)
    rg = [ripgrep_program(tree), "needle [0-9]+", "."]
    searching, plain_rg = alternate(
        ROUNDS, lambda: timed(tools, "search_files", path=".", regex="needle [0-9]+"), lambda: program(rg, tree)
    )
    globbing, rg_files = alternate(
        ROUNDS,
        lambda: timed(tools, "glob", pattern="**/*.py"),
        lambda: program([ripgrep_program(tree), "--files", "--glob=*.py"], tree),
    )
    listing, git_files = alternate(
        ROUNDS, lambda: timed(tools, "list_files", path=".", recursive=True), lambda: program(["git", "ls-files"], tree)
    )
    return [
        ratio("search_files / rg, 50,000 files", searching, plain_rg, 1.3),
        ratio("glob, newest first / rg --files, 50,000 files", globbing, rg_files, 5),
        ratio("list_files / git ls-files, 50,000 files", listing, git_files, 3),
    ]


def timed(tools: Workbench, name: str, **arguments: Any) -> Cost:
    """One call as the executor makes it, in an event loop that is there already."""
    tool = by_name(builtin_tools())[name]
    params = tool.params(**arguments)

    async def call() -> None:
        prepared = await tool.prepare(params, tools)
        await prepared.run()

    return asyncio.run(clocked(call))


async def clocked(call: Callable[[], Awaitable[Any]]) -> Cost:
    start = time.perf_counter()
    await call()
    return Cost(wall_s=time.perf_counter() - start, cpu_s=0, peak_mb=0, output="")


def program(command: list[str], cwd: Path) -> Cost:
    """The same as a user would have it: run to the end, its output taken."""
    start = time.perf_counter()
    subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return Cost(wall_s=time.perf_counter() - start, cpu_s=0, peak_mb=0, output="")


def big_tree(root: Path) -> Path:
    text = "".join(f"line {number} of something like source code\n" for number in range(LINES))
    for directory in range(DIRECTORIES):
        place = root / f"group{directory % 20}" / f"part{directory}"
        place.mkdir(parents=True)
        for file in range(FILES_IN_EACH):
            number = directory * FILES_IN_EACH + file
            needle = f"needle {number}\n" if number % NEEDLE_EVERY == 0 else ""
            (place / f"file{file}.{'py' if file % 2 else 'txt'}").write_text(text + needle)
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root
