"""`robota trace`: whether the trace of what agents changed is as it was written."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.cli.command_parser import CommandParser
from robota.cli.output import print_json
from robota.config.paths import user_directory
from robota.intents.intent_files import open_plain
from robota.intents.trace_file import TRACE, noted_newest
from robota.intents.trace_verification import VerifiedTrace, verify_trace

DONE: Final = 0
FAILED: Final = 1


def main(argv: Sequence[str]) -> int:
    """Run `robota trace …`; the arguments begin after `trace`."""
    options = parser().read(argv)
    try:
        with os.fdopen(open_plain(Path(), TRACE), "rb") as file:
            verified = verify_trace(file, noted_newest(Path.cwd(), user_directory(os.environ)))
    except OSError as error:
        print(f"robota: {TRACE} cannot be read: {error.strerror}. Nothing was changed.", file=sys.stderr)
        return FAILED
    if options.action == "head":
        print(verified.head)
        return DONE
    if options.json:
        print_json({**msgspec.to_builtins(verified), "isIntact": not verified.findings})
    else:
        _print(verified)
    return FAILED if verified.findings else DONE


def parser() -> CommandParser:
    """What may stand behind `robota trace`."""
    parser = CommandParser(prog="robota trace", description=f"What agents changed here, as {TRACE} has it.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    verify = actions.add_parser("verify", help="name what was edited, dropped, moved or cut off; exit code 1 if so")
    verify.add_argument("--json", action="store_true", help="print JSON instead of text")
    actions.add_parser("head", help="the hash that stands for the whole trace, for the trailer of a commit")
    return parser


def _print(verified: VerifiedTrace) -> None:
    for finding in verified.findings:
        print(f"line {finding.line}: {finding.fault}: {finding.text}")
    foreign = f", {verified.foreign} lines of other tools" if verified.foreign else ""
    intact = "is not as it was written" if verified.findings else "is as it was written"
    print(f"The trace {intact}: {verified.records} records{foreign}.")
