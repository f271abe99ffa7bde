"""`python -m benchmarks.compare TREE`: the rows of `make bench` here and in another checkout, measured in turn.

A machine is quicker at one minute than at the next, so two whole runs cannot be compared. Here each part runs in one
tree, then in the other, several times; the best value of each row counts, because noise only ever adds.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from benchmarks.__main__ import PARTS
from benchmarks.bench import ROOT

ROUNDS = 3
# What a row may cost more than before.
WORSE = 1.05


class Row(msgspec.Struct, frozen=True):
    """One measurement as `--json` writes it."""

    name: str
    value: float
    unit: str


class Rows(msgspec.Struct, frozen=True):
    """The file that `--json` writes."""

    measurements: list[Row]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("tree", type=Path, help="the other checkout, with its virtual environment")
    parser.add_argument("parts", nargs="*", help="only these parts of make bench")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    worse = False
    for part in options.parts or PARTS:
        before, after = best_of_rounds(options.tree, part, options.rounds)
        for name in before.keys() & after.keys():
            worse |= is_worse(before[name], after[name])
    return 1 if worse else 0


def best_of_rounds(other: Path, part: str, rounds: int) -> tuple[dict[str, Row], dict[str, Row]]:
    """The lowest value of each row in the other tree and in this one."""
    before: dict[str, Row] = {}
    after: dict[str, Row] = {}
    for _ in range(rounds):
        for tree, best in ((other, before), (ROOT, after)):
            for row in run_part(tree, part):
                if row.name not in best or row.value < best[row.name].value:
                    best[row.name] = row
    return before, after


def run_part(tree: Path, part: str) -> list[Row]:
    """One part of `make bench` in `tree`; no rows if that tree does not know the part yet."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [str(tree.absolute() / ".venv/bin/python"), "-m", "benchmarks", part, "--json", file.name]
        subprocess.run(command, cwd=tree, capture_output=True, check=False)
        written = Path(file.name).read_bytes()
    return msgspec.json.decode(written, type=Rows).measurements if written else []


def is_worse(before: Row, after: Row) -> bool:
    """Print one row of both trees; whether it became worse than is allowed."""
    worse = after.value > before.value * WORSE
    mark = "WORSE" if worse else "ok"
    print(f"{mark:5}  {before.value:9.3f} -> {after.value:9.3f} {after.unit:3}  {after.name}", flush=True)
    return worse


if __name__ == "__main__":
    sys.exit(main())
