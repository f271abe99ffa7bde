"""`robota sessions verify`: check the chain of a log."""

import argparse
from pathlib import Path
from typing import Any, Final

from robota.cli.commands.sessions.selection import chosen_sessions, newest_session, person_directory
from robota.cli.output import print_columns, print_json
from robota.cli.reading_progress import ReadingProgress
from robota.log.catalogue.find import find_catalogued
from robota.log.chain.head import ChainHead, head_path, noted_head
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.verify import ChainBreak, VerifyReport, verify
from robota.log.errors import SessionNotFound
from robota.text.counted import counted

EXIT_SOUND: Final = 0
EXIT_BROKEN: Final = 1
NO_HEAD: Final = "This machine has no note of its length, so a truncated end would not be noticed."


def run(options: argparse.Namespace) -> int:
    """Check the chain of one log. Reads only."""
    path = _log_path(options)
    noted = _noted_head(path)
    progress = ReadingProgress("verifying", path.stat().st_size if path.is_file() else 0)
    try:
        report = verify(path, noted, progress)
    finally:
        progress.end()
    if options.json:
        print_json(_report_json(path, report, noted))
    else:
        _print_report(path, report, noted)
    return EXIT_SOUND if report.broken is None else EXIT_BROKEN


def _print_report(path: Path, report: VerifyReport, noted: ChainHead | None) -> None:
    rows = [("log", str(path)), ("records", str(report.records))]
    if report.broken is None:
        print_columns([*rows, ("chain", "ok"), ("head", report.head_hash)])
        print(NO_HEAD if noted is None else f"It contains record {noted.seq}, which was noted outside the workspace.")
        return
    broken = report.broken
    reason = f"{broken.flaw}: {broken.explanation}"
    where = [("line", str(broken.line)), ("seq", str(broken.seq))]
    print_columns([*rows, ("chain", "BROKEN"), *where, ("reason", reason)])
    print(f"The {counted(report.records, 'record')} before it can be trusted. Nothing was changed.")


def _log_path(options: argparse.Namespace) -> Path:
    """The log: by id first, so that a file of that name cannot hide a session; without an argument the newest."""
    if options.session is None:
        return newest_session(options).directory / LOG_NAME
    try:
        return find_catalogued(chosen_sessions(options), options.session).directory / LOG_NAME
    except SessionNotFound:
        path: Path = options.cwd.resolve() / options.session
        if path.is_dir():
            return path / LOG_NAME
        if path.exists():
            return path
        raise


def _noted_head(path: Path) -> ChainHead | None:
    """The head of the log that was recorded outside the workspace while it was written."""
    user = person_directory()
    return noted_head(head_path(user, path.parent)) if user is not None else None


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
