"""The verb `audit`: a one-page report for those responsible for an agent."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from robota.app.intents import intent_directories
from robota.commands.sessions.searching import since_ms
from robota.commands.sessions.selection import noted_end, own_directory, stored_sessions
from robota.commands.verb import USAGE, Answer, Family, RawOutput, ReadingVerb, always, shown, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import ChangingOption, Option
from robota.config.errors import ConfigError
from robota.intents.intent_files import open_plain
from robota.intents.trace_file import TRACE, noted_newest
from robota.intents.trace_verification import verify_trace
from robota.log.catalogue.catalogue import CataloguedSession
from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.head import ChainHead
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.verify import verify
from robota.log.chain.writer import wall_clock_ms
from robota.log.errors import LogError
from robota.proof.audit.audit import Audit, AuditedSession, Soundness
from robota.proof.audit.page import page_of
from robota.proof.audit.page_text import html_page_of, markdown_of
from robota.proof.audit.session_account import account_of_session
from robota.protocol.views import TextView
from robota.text.visible import without_surrogates


class AuditProject(msgspec.Struct, frozen=True, kw_only=True):
    """What the page covers, and where it goes."""

    since: Annotated[str | None, Option("only what happened since then: 7d, 12h, 2026-10-31", "TIME")] = None
    format: Annotated[Literal["markdown", "html"], Option("default: markdown")] = "markdown"
    output: Annotated[str | None, ChangingOption("write the page to a file", "FILE", ("-o",))] = None
    force: Annotated[bool, Option("overwrite an existing file")] = False
    all: Annotated[bool, Option("include the sessions of all projects on this machine")] = False


def _report(host: VerbHost, args: AuditProject) -> Answer:
    now = wall_clock_ms()
    since = since_ms(args.since, now) if args.since else 0
    audit = _audit(host, stored_sessions(host, everywhere=args.all), since, now)
    if args.output is not None and (host.opened is not None or not host.wants_all):
        path = host.path(args.output)
        _write(path, _page(audit, args.format), force=args.force)
        return told(f"The page was written to {path}.", audit, ok=audit.is_sound)
    text = "" if host.wants_all and host.opened is None else _page(audit, args.format)
    view = TextView(text=text.rstrip("\n"), is_markdown=args.format == "markdown")
    answer = shown(view, audit, ok=audit.is_sound)
    return msgspec.structs.replace(answer, output=RawOutput([text.encode()]))


FAMILY: Final = Family(
    name="audit",
    about="Report what agents were asked to do, who approved what, what was sent out, and whether the logs are intact.",
    description="report what agents did here, who approved it, what was sent out",
    main=ReadingVerb("audit", "report what agents did here, who approved it, what was sent out", AuditProject, _report),
    explain=always(USAGE),
)


def _audit(host: VerbHost, sessions: Sequence[CataloguedSession], since: int, now: int) -> Audit:
    audited: list[AuditedSession] = []
    unread: dict[str, str] = {}
    for session in sorted(sessions, key=lambda each: each.summary.first_ts):
        if session.summary.last_ts < since:
            continue
        try:
            audited.append(_session(session, noted_end(host.env, session.directory), since))
        except (LogError, OSError) as error:
            unread[session.id] = str(error)
    return Audit(
        project=str(host.root),
        made_ms=now,
        since_ms=since,
        sessions=tuple(audited),
        trace=_trace(host.root, own_directory(host.env)),
        unread=unread,
    )


def _session(session: CataloguedSession, noted: ChainHead | None, since: int) -> AuditedSession:
    log, summary = session.directory / LOG_NAME, session.summary
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


def _trace(root: Path, user: Path | None) -> Soundness | None:
    place = intent_directories(root)
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


def _page(audit: Audit, format: str) -> str:
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
