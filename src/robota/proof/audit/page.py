"""An audit as headings, paragraphs and tables, before it is rendered as Markdown or HTML."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

import msgspec

from robota.proof.audit.audit import Audit, AuditedSession, Soundness
from robota.proof.audit.session_account import AuditedCall, total
from robota.proof.calls.call_story import Approver
from robota.protocol.permission_mode import PermissionMode
from robota.text.counted import counted
from robota.text.visible import single_line

MAX_LENGTH: Final = 160
UNASKED: Final = "there, calls run without a question, and commands without the sandbox."
DECIDERS: Final = {
    Approver.PERSON: "a user",
    Approver.RULE: "a rule",
    Approver.HOOK: "a hook or the intents",
    Approver.MODE: "the permission mode",
    Approver.NOBODY: "the log does not say",
}
PROMPTS_SHOWN: Final = 3
BEYOND_THE_SANDBOX: Final = (
    "In the sandbox they reach the hosts on its list alone, which are named above. What a command reached without the "
    "sandbox, or with all of the network open to it, cannot be known from a log."
)


class Paragraph(msgspec.Struct, frozen=True):
    """A paragraph of plain text."""

    text: str


class PageTable(msgspec.Struct, frozen=True):
    """A table with the names of its columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class PageSection(msgspec.Struct, frozen=True):
    """A heading with its paragraphs and tables."""

    heading: str
    parts: tuple[Paragraph | PageTable, ...]


class AuditPage(msgspec.Struct, frozen=True):
    """The whole page."""

    title: str
    sections: tuple[PageSection, ...]


def page_of(audit: Audit) -> AuditPage:
    """The page. Text of models and repositories is put on one line, with invisible characters escaped."""
    sections = (_summary(audit), _asked(audit), _decisions(audit), _left(audit), _proofs(audit))
    return AuditPage(title=f"What agents did in {single_line(audit.project, MAX_LENGTH)}", sections=sections)


def _summary(audit: Audit) -> PageSection:
    accounts = [session.account for session in audit.sessions]
    since = f"since {_time(audit.since_ms)}" if audit.since_ms else "since the first session"
    calls = sum(total(each.tools for each in accounts).values())
    asked, quick = sum(each.asked for each in accounts), sum(each.quick for each in accounts)
    refused = sum(total(each.refused for each in accounts).values())
    sound = "All logs are intact." if audit.is_sound else "NOT all logs are intact; see below."
    paragraphs = [
        f"{counted(len(audit.sessions), 'session')} {since}, looked at {_time(audit.made_ms)}. {sound}",
        f"{counted(calls, 'call')}; {refused} refused. The user was asked {counted(asked, 'time')}"
        + (f", and answered {quick} of them in less than a second." if quick else "."),
    ]
    if unasked := sum(session.permission_mode == PermissionMode.BYPASS for session in audit.sessions):
        paragraphs.append(f"{counted(unasked, 'session')} began with {PermissionMode.BYPASS}: {UNASKED}")
    return PageSection("In short", tuple(map(Paragraph, paragraphs)))


def _asked(audit: Audit) -> PageSection:
    rows = []
    for session in audit.sessions:
        account = session.account
        prompts = " / ".join(single_line(prompt, MAX_LENGTH) for prompt in account.prompts[:PROMPTS_SHOWN])
        more = account.prompt_count - PROMPTS_SHOWN
        rows.append(
            (
                session.id,
                _time(session.first_ms),
                ", ".join(single_line(name) for name in account.models) or single_line(session.model),
                session.permission_mode,
                ", ".join(single_line(name) for name in account.intents),
                prompts + (f" / {more} more" if more > 0 else ""),
            )
        )
    table = PageTable(("session", "began", "model", "mode", "intents", "what was asked for"), tuple(rows))
    return PageSection("What was asked for", (table,))


def _decisions(audit: Audit) -> PageSection:
    accounts = [session.account for session in audit.sessions]
    allowed, refused = total(each.allowed for each in accounts), total(each.refused for each in accounts)
    names = sorted({*allowed, *refused})
    counts = PageTable(
        ("decided by", "allowed", "refused"),
        tuple((_decider(name), str(allowed[name]), str(refused[name])) for name in names),
    )
    refusals = _calls(audit, lambda session: session.account.refusals)
    answers = _calls(audit, lambda session: session.account.answers)
    parts = (counts, Paragraph("Refused:"), refusals, Paragraph("Decided by the user:"), answers)
    return PageSection("What was allowed and refused, and by whom", parts)


def _calls(audit: Audit, chosen: Callable[[AuditedSession], Sequence[AuditedCall]]) -> PageTable:
    rows = tuple(_call_row(session, call) for session in audit.sessions for call in chosen(session))
    return PageTable(("session", "when", "call", "outcome", "by", "why", "looked at"), rows)


def _call_row(session: AuditedSession, call: AuditedCall) -> tuple[str, ...]:
    looked = "" if call.looked_ms is None else f"{call.looked_ms / 1000:.1f} s"
    why = f"said: {call.words}" if call.words else call.rule or call.reason
    what = f"{single_line(call.tool)} {single_line(call.what, MAX_LENGTH)}".rstrip()
    outcome = "refused" if call.status == "denied" else call.status
    return (session.id, _time(call.at_ms), what, outcome, DECIDERS[call.by], single_line(why, MAX_LENGTH), looked)


def _left(audit: Audit) -> PageSection:
    accounts = [session.account for session in audit.sessions]
    is_cost_known = all(each.is_cost_known for each in accounts)
    cost = f"${sum(each.cost for each in accounts):.4f}" + (
        "" if is_cost_known else "  and what providers do not report"
    )
    models = PageTable(
        ("provider", "model", "sessions", "requests", "tokens sent", "tokens received", "cost"),
        tuple(_model_row(*key, list(each)) for key, each in groupby(sorted(audit.sessions, key=_model), key=_model)),
    )
    parts: list[Paragraph | PageTable] = [Paragraph(f"Models were sent the conversations, for {cost}."), models]
    parts += _counted("host that a call named", "calls", total(each.hosts for each in accounts))
    parts += _counted("MCP server", "calls", total(each.servers for each in accounts))
    parts += _counted("host that commands were connected to", "sessions", total(each.reached for each in accounts))
    if commands := sum(each.commands for each in accounts):
        parts.append(Paragraph(f"{counted(commands, 'command')} ran. {BEYOND_THE_SANDBOX}"))
    unconfined = _calls(audit, lambda session: session.account.unconfined)
    if unconfined.rows:
        parts += [Paragraph("Commands that the user allowed outside the sandbox, or opened it for:"), unconfined]
    return PageSection("What left the machine", tuple(parts))


def _model(session: AuditedSession) -> tuple[str, str]:
    return session.provider, session.model


def _model_row(provider: str, model: str, sessions: Sequence[AuditedSession]) -> tuple[str, ...]:
    accounts = [session.account for session in sessions]
    is_known = all(each.is_cost_known for each in accounts)
    return (
        single_line(provider),
        single_line(model),
        str(len(sessions)),
        f"{sum(each.requests for each in accounts):,}",
        f"{sum(each.tokens_in for each in accounts):,}",
        f"{sum(each.tokens_out for each in accounts):,}",
        f"${sum(each.cost for each in accounts):.4f}" if is_known else "unknown",
    )


def _decider(name: str) -> str:
    return DECIDERS[Approver(name)]


def _counted(what: str, how: str, counts: Mapping[str, int]) -> Iterator[PageTable]:
    if counts:
        rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        yield PageTable((what, how), tuple((single_line(name), str(count)) for name, count in rows))


def _proofs(audit: Audit) -> PageSection:
    marks = {True: "", False: "not from here"}
    rows = [(session.id, *_sound(session.chain), marks[session.is_own]) for session in audit.sessions]
    rows += [(single_line(name), "", single_line(why, MAX_LENGTH), "") for name, why in audit.unread.items()]
    parts: list[Paragraph | PageTable] = [PageTable(("log", "records", "chain", ""), tuple(rows))]
    if audit.trace is not None:
        parts.append(Paragraph(f"The trace of changes: {', '.join(_sound(audit.trace))}."))
    return PageSection("Integrity of the logs", tuple(parts))


def _sound(soundness: Soundness) -> tuple[str, str]:
    state = soundness.problem or ("ok" if soundness.noted else "ok in itself; not noted by this machine")
    return counted(soundness.records, "record"), single_line(state, MAX_LENGTH)


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if ms else ""
