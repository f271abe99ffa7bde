"""`robota sessions`: list the sessions of a workspace, and check the chain of one."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from robota.cli.command_parser import CommandParser
from robota.cli.output import print_columns, print_json
from robota.config.errors import ConfigError
from robota.config.paths import user_directory
from robota.log.chain.head import ChainHead, head_path, noted_head
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.verify import ChainBreak, VerifyReport, verify
from robota.log.errors import LogError, SessionAmbiguous, SessionNotFound
from robota.log.session_title import first_prompt
from robota.log.store import SessionEntry, fallback_directory, find_session, list_sessions
from robota.text.visible import single_line

EXIT_SOUND: Final = 0
EXIT_BROKEN: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOT_FOUND: Final = 3
TITLE_SHOWN: Final = 60
NO_HEAD: Final = "Nothing was noted of it on this machine, so an end that was cut off would not show."
HEADINGS: Final = ("ID", "LAST WRITTEN", "MODEL", "NAME OR FIRST PROMPT")


def main(argv: Sequence[str]) -> int:
    """Run `robota sessions …`; the arguments begin after `sessions`."""
    options = _parser().read(argv)
    try:
        if options.action == "list":
            return _list(options)
        return _verify(options)
    except SessionAmbiguous as error:
        print(f"robota: {error}", file=sys.stderr)
        return EXIT_USAGE
    except LogError as error:
        print(f"robota: {error}", file=sys.stderr)
        return EXIT_NOT_FOUND


def _parser() -> CommandParser:
    shared = CommandParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print JSON instead of text")
    shared.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace (default: here)")
    parser = CommandParser(prog="robota sessions", description="The sessions of a workspace.")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", parents=[shared], help="show the sessions, the newest first")
    check = actions.add_parser("verify", parents=[shared], help="check that a session's log was not changed")
    check.add_argument("session", metavar="ID|PATH", help="an id or the start of one, a session directory or a log")
    return parser


def _list(options: argparse.Namespace) -> int:
    root = options.cwd.resolve()
    entries = list_sessions(root, _fallback(root))
    if options.json:
        print_json([_entry_json(entry) for entry in entries])
    elif not entries:
        print(f"There are no sessions in {root}.")
    else:
        print_columns([HEADINGS, *(_entry_row(entry) for entry in entries)])
    return EXIT_SOUND


def _verify(options: argparse.Namespace) -> int:
    path = _log_path(options.cwd.resolve(), options.session)
    noted = _noted_head(path)
    report = verify(path, noted)
    if options.json:
        print_json(_report_json(path, report, noted))
    else:
        _print_report(path, report, noted)
    return EXIT_SOUND if report.broken is None else EXIT_BROKEN


def _print_report(path: Path, report: VerifyReport, noted: ChainHead | None) -> None:
    rows = [("log", str(path)), ("records", str(report.records))]
    if report.broken is None:
        print_columns([*rows, ("chain", "ok"), ("head", report.head_hash)])
        print(NO_HEAD if noted is None else f"Record {noted.seq}, noted outside the workspace, is in it.")
        return
    broken = report.broken
    reason = f"{broken.flaw}: {broken.explanation}"
    where = [("line", str(broken.line)), ("seq", str(broken.seq))]
    print_columns([*rows, ("chain", "BROKEN"), *where, ("reason", reason)])
    print(f"The {report.records} records before it are sound. Nothing was changed.")


def _log_path(root: Path, session: str) -> Path:
    """The log that is meant: by id first, so that a file in the way cannot hide a session."""
    try:
        return find_session(root, session, _fallback(root)) / LOG_NAME
    except SessionNotFound:
        path = root / session
        if path.is_dir():
            return path / LOG_NAME
        if path.exists():
            return path
        raise


def _noted_head(path: Path) -> ChainHead | None:
    """What was noted of the log outside the workspace while it was written."""
    try:
        return noted_head(head_path(user_directory(os.environ), path.parent))
    except ConfigError:
        return None


def _fallback(root: Path) -> Path | None:
    try:
        return fallback_directory(user_directory(os.environ), root)
    except ConfigError:
        return None


def _entry_row(entry: SessionEntry) -> tuple[str, ...]:
    written = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.modified_ms / 1000))
    model, name = (
        ("?", "") if entry.header is None else (single_line(entry.header.model), single_line(entry.header.name or ""))
    )
    return (entry.id, written, model, name or single_line(first_prompt(entry.directory / LOG_NAME), TITLE_SHOWN))


def _entry_json(entry: SessionEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "path": str(entry.directory / LOG_NAME),
        "modifiedMs": entry.modified_ms,
        "size": entry.size,
        "header": entry.header,
    }


def _report_json(path: Path, report: VerifyReport, noted: ChainHead | None) -> dict[str, Any]:
    return {
        "ok": report.broken is None,
        "path": str(path),
        "records": report.records,
        "headHash": report.head_hash,
        "notedSeq": None if noted is None else noted.seq,
        "broken": None if report.broken is None else _break_json(report.broken),
    }


def _break_json(broken: ChainBreak) -> dict[str, Any]:
    return {"line": broken.line, "seq": broken.seq, "reason": broken.flaw, "text": broken.explanation}
