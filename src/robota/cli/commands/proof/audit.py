"""`robota audit`: a one-page report for the person who is responsible for an agent."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from robota.app.intents import place_of_intents
from robota.cli.command_parser import CommandParser
from robota.cli.commands.sessions.searching import since_ms
from robota.cli.commands.sessions.selection import chosen_sessions, person_directory, tell
from robota.cli.output import print_json
from robota.config.errors import ConfigError
from robota.config.launch_options import workspace_root
from robota.intents.intent_files import open_plain
from robota.intents.trace_file import TRACE, noted_newest
from robota.intents.trace_verification import verify_trace
from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.head import head_path, noted_head
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.verify import verify
from robota.log.chain.writer import wall_clock_ms
from robota.log.errors import LogError
from robota.proof.audit.audit import Audit, AuditedSession, Soundness
from robota.proof.audit.page import page_of
from robota.proof.audit.page_text import html_page_of, markdown_of
from robota.proof.audit.session_account import account_of_session
from robota.text.visible import without_surrogates

SOUND: Final = 0
NOT_SOUND: Final = 1
NOT_MADE: Final = 2


def main(argv: Sequence[str]) -> int:
    """Run `robota audit …`; the arguments begin after `audit`."""
    options = parser().parse_args(argv)
    try:
        root = workspace_root(options.cwd)
        now = wall_clock_ms()
        since = since_ms(options.since, now) if options.since else 0
        audit = _audit(root, chosen_sessions(options), since, now)
        text = None if options.json else _text(audit, options.format)
        if text is not None and options.output is not None:
            _write(options.output, text, force=options.force)
    except (ConfigError, LogError) as error:
        tell(str(error))
        return NOT_MADE
    if text is None:
        print_json(audit)
    elif options.output is None:
        sys.stdout.write(text)
    else:
        print(f"The page was written to {options.output}.")
    return SOUND if audit.is_sound else NOT_SOUND


def parser() -> CommandParser:
    """The argument parser of `robota audit`."""
    about = (
        "Report what agents were asked to do, who approved what, what was sent out, and whether the logs are intact."
    )
    parser = CommandParser(prog="robota audit", description=about)
    parser.add_argument("--since", metavar="TIME", help="only what happened since then: 7d, 12h, 2026-10-31")
    parser.add_argument("--format", choices=["markdown", "html"], default="markdown", help="default: markdown")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the page to a file")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the project (default: here)")
    parser.add_argument("--all", action="store_true", help="include the sessions of all projects on this machine")
    return parser


def _audit(root: Path, sessions: Sequence[CataloguedSession], since: int, now: int) -> Audit:
    audited: list[AuditedSession] = []
    unread: dict[str, str] = {}
    for session in sorted(sessions, key=lambda each: each.summary.first_ts):
        if session.summary.last_ts < since:
            continue
        try:
            audited.append(_session(session, since))
        except (LogError, OSError) as error:
            unread[session.id] = str(error)
    return Audit(
        project=str(root), made_ms=now, since_ms=since, sessions=tuple(audited), trace=_trace(root), unread=unread
    )


def _session(session: CataloguedSession, since: int) -> AuditedSession:
    log, summary, user = session.directory / LOG_NAME, session.summary, person_directory()
    noted = None if user is None else noted_head(head_path(user, session.directory))
    report = verify(log, noted)
    broken = report.broken
    problem = "" if broken is None else f"line {broken.line}, record {broken.seq}: {broken.explanation}"
    records = (grown.record for grown in records_since(log, LogPosition()))
    header = summary.header
    return AuditedSession(
        id=session.id,
        title=session.name or summary.title,
        first_ms=summary.first_ts,
        last_ms=summary.last_ts,
        model=session.model,
        provider=header.provider if header is not None else "",
        permission_mode=str(header.permission_mode) if header is not None else "",
        is_own=session.is_own,
        chain=Soundness(records=report.records, problem=problem, noted=noted is not None),
        account=account_of_session(session.id, records, since),
    )


def _trace(root: Path) -> Soundness | None:
    user, place = person_directory(), place_of_intents(root)
    root = root if place is None else place.home
    try:
        with os.fdopen(open_plain(root, TRACE), "rb") as file:
            newest = None if user is None else noted_newest(root, user)
            verified = verify_trace(file, newest)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Soundness(records=0, problem=f"{TRACE} cannot be read: {error.strerror}")
    first = next(iter(verified.findings), None)
    problem = "" if first is None else f"line {first.line}: {first.fault}: {first.text}"
    return Soundness(records=verified.records, problem=problem, noted=newest is not None)


def _text(audit: Audit, format: str) -> str:
    page = page_of(audit)
    return without_surrogates(html_page_of(page) if format == "html" else markdown_of(page))


def _write(path: Path, text: str, *, force: bool) -> None:
    try:
        with path.open("w" if force else "x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError as error:
        message = f"{path} already exists and was left unchanged. Choose another --output, or use --force."
        raise ConfigError(message) from error
    except OSError as error:
        raise ConfigError(f"{path} could not be written: {error.strerror}. Choose another --output.") from error
