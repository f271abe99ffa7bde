"""Checks the chain of a log."""

from pathlib import Path
from typing import Any, Final

from robota.commands.families.sessions import VerifySession
from robota.commands.sessions.selection import newest_session, noted_end, project_of, stored_sessions
from robota.commands.verb import CONFIGURATION, Answer, VerbFailed, shown_parts
from robota.commands.verb_host import VerbHost
from robota.config.errors import ConfigError
from robota.log.catalogue.find import find_catalogued
from robota.log.chain.head import ChainHead
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.verify import ChainBreak, VerifyReport, verify
from robota.log.errors import LogError, SessionAmbiguous, SessionNotFound
from robota.protocol.views import SimpleView, TableView, TextView
from robota.text.counted import counted

NO_HEAD: Final = "This machine has no note of its length, so a truncated end would not be noticed."


def verify_session(host: VerbHost, args: VerifySession) -> Answer:
    """Check the chain of one log. Reads only."""
    try:
        path = _log_path(host, args)
        noted = noted_end(host.env, path.parent)
        with host.progress("verifying", path) as progress:
            report = verify(path, noted, progress)
    except SessionAmbiguous:
        raise
    except (LogError, ConfigError) as error:
        raise VerbFailed(str(error), CONFIGURATION) from error
    return shown_parts(_report_views(path, report, noted), _report_json(path, report, noted), ok=report.broken is None)


def _report_views(path: Path, report: VerifyReport, noted: ChainHead | None) -> tuple[SimpleView, ...]:
    rows = [("log", str(path)), ("records", str(report.records))]
    if report.broken is None:
        rows += [("chain", "ok"), ("head", report.head_hash)]
        text = NO_HEAD if noted is None else f"It contains record {noted.seq}, which was noted outside the workspace."
    else:
        broken = report.broken
        rows += [("chain", "BROKEN"), ("line", str(broken.line)), ("seq", str(broken.seq))]
        rows += [("reason", f"{broken.flaw}: {broken.explanation}")]
        text = f"The {counted(report.records, 'record')} before it can be trusted. Nothing was changed."
    return TableView(columns=(), rows=tuple(rows)), TextView(text=text)


def _log_path(host: VerbHost, args: VerifySession) -> Path:
    """The log: by id first, so that a file of that name cannot hide a session; without an argument the newest."""
    if args.session is None:
        return newest_session(host, everywhere=args.all).directory / LOG_NAME
    try:
        return find_catalogued(stored_sessions(host, everywhere=args.all), args.session).directory / LOG_NAME
    except SessionNotFound:
        path = project_of(host) / args.session
        if path.is_dir():
            return path / LOG_NAME
        if path.exists():
            return path
        raise


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
