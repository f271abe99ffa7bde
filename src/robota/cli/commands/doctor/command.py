"""`robota doctor`: check everything that Robota needs, and report problems with advice."""

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from robota.cli.command_parser import CommandParser
from robota.cli.commands.doctor.checks import Check, Health, examine
from robota.cli.commands.doctor.repairs import mend
from robota.cli.output import print_columns
from robota.protocol.views import TableView

MARKS = {Health.GOOD: "ok", Health.NOTE: "note", Health.BAD: "BAD"}


def main(argv: Sequence[str]) -> int:
    """Run `robota doctor …`; exit code 0 if nothing is bad."""
    options = parser().parse_args(argv)
    try:
        root = options.cwd.resolve(strict=True)
    except OSError as error:
        print(f"robota: {options.cwd} cannot be used: {error.strerror}.", file=sys.stderr)
        return 1
    mended = mend(root, os.environ, really=options.fix)
    checks = [*mended, *asyncio.run(examine(root, os.environ))]
    is_well = all(check.health is not Health.BAD for check in checks)
    if options.json:
        report = msgspec.json.encode({"ok": is_well, "checks": checks})
        print(msgspec.json.format(report, indent=2).decode())
    else:
        _print(checks, is_well)
    return 0 if is_well else 1


def parser() -> CommandParser:
    """The argument parser of `robota doctor`."""
    parser = CommandParser(prog="robota doctor", description="Diagnose the set-up: everything that Robota needs.")
    parser.add_argument("--fix", action="store_true", help="first repair what can be repaired without losing anything")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    return parser


def check_table(checks: Sequence[Check]) -> TableView:
    """The checks as a view for a client."""
    return TableView(columns=("", "CHECK", "FOUND"), rows=tuple(_rows(checks)))


def _print(checks: Sequence[Check], is_well: bool) -> None:
    print_columns(list(_rows(checks)))
    print("\nEverything Robota needs is available." if is_well else "\nProblems were found; see the lines marked BAD.")


def _rows(checks: Sequence[Check]) -> Iterator[tuple[str, ...]]:
    for check in checks:
        yield (MARKS[check.health], check.name, check.text)
        if check.advice:
            yield ("", "", f"→ {check.advice}")
