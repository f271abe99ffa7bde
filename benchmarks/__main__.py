"""`make bench`: measure what the project promises about speed, side by side in one run."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench import Bench, bench
from benchmarks.budgets import budgets
from benchmarks.checkpoints import checkpoints
from benchmarks.commands import commands
from benchmarks.completion import completion
from benchmarks.edits import edits
from benchmarks.intents import intents
from benchmarks.knowledge import knowledge
from benchmarks.measurement import Measurement, table, write_json
from benchmarks.opening import opening
from benchmarks.page import page
from benchmarks.programs import programs
from benchmarks.proof import proof
from benchmarks.questions import questions
from benchmarks.sandbox import sandbox
from benchmarks.search import search
from benchmarks.sessions import sessions
from benchmarks.startup import one_shot, version
from benchmarks.streaming import chunks, dialects
from benchmarks.terminal import terminal
from benchmarks.turn_files import turn_files
from benchmarks.turns import overhead, scripted
from benchmarks.windows import windows

PARTS: dict[str, Callable[[Bench], list[Measurement]]] = {
    "version": version,
    "one-shot": one_shot,
    "overhead": overhead,
    "chunks": chunks,
    "dialects": dialects,
    "scripted": scripted,
    "edits": edits,
    "commands": commands,
    "sandbox": sandbox,
    "questions": questions,
    "budgets": budgets,
    "search": search,
    "completion": completion,
    "terminal": terminal,
    "knowledge": knowledge,
    "sessions": sessions,
    "opening": opening,
    "turn-files": turn_files,
    "checkpoints": checkpoints,
    "intents": intents,
    "proof": proof,
    "windows": windows,
    "page": page,
    "programs": programs,
}


def main() -> int:
    options = parse()
    measurements: list[Measurement] = []
    for name in options.parts or PARTS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        # A place for each part: what one sets up, like another profile, must not be what the next is measured with.
        with bench() as place:
            measurements += PARTS[name](place)
    print(table(measurements))
    if options.json:
        write_json(measurements, options.json)
    return 1 if options.check and not all(m.is_met for m in measurements) else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help="only these: " + ", ".join(PARTS))
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the measurements there too")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; known are {', '.join(PARTS)}")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
