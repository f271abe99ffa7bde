"""Collects from the log of a session what an audit shows."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from robota.log.kinds.calls import ReachedRecord
from robota.log.kinds.conversation import MessageRecord
from robota.log.record import Record, payload_of
from robota.log.replay.request_account import request_info
from robota.proof.calls.call_story import Approver, CallStory
from robota.proof.calls.story_fold import StoryFold
from robota.protocol.state import is_request_row

# Too short to have read a question with a command or a diff.
READING_MS: Final = 1_000
MAX_LISTED: Final = 200
MAX_NAMES: Final = 200
URL_FIELDS: Final = ("url", "uri")
MCP_TOOL: Final = "mcp__"
MCP_FIELDS: Final = ("server_name", "serverName", "server")


class AuditedCall(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A call that was refused, or that the user decided about."""

    at_ms: int
    tool: str
    what: str
    status: str
    by: Approver
    reason: str
    rule: str = ""
    looked_ms: int | None = None
    words: str = ""
    intent: str = ""


class SessionAccount(msgspec.Struct, kw_only=True, rename="camel"):
    """What one session did. `allowed` and `refused` count calls by who decided; `quick` counts hasty answers.

    `hosts` are named in calls; `reached` are those that the sandbox connected commands to. `servers` are called MCP
    servers, `commands` is the number of commands that ran, and `unconfined` are those that the user let run outside
    the sandbox or with a wider one.
    """

    id: str
    prompts: list[str] = []
    prompt_count: int = 0
    models: dict[str, int] = {}
    intents: dict[str, int] = {}
    tools: dict[str, int] = {}
    allowed: dict[str, int] = {}
    refused: dict[str, int] = {}
    failed: int = 0
    asked: int = 0
    quick: int = 0
    refusals: list[AuditedCall] = []
    answers: list[AuditedCall] = []
    hosts: dict[str, int] = {}
    servers: dict[str, int] = {}
    reached: dict[str, int] = {}
    commands: int = 0
    unconfined: list[AuditedCall] = []
    requests: int = 0
    cost: float = 0.0
    is_cost_known: bool = True
    tokens_in: int = 0
    tokens_out: int = 0


def account_of_session(id: str, records: Iterable[Record], since_ms: int = 0) -> SessionAccount:
    """The account of a session from a point in time on."""
    account, fold = SessionAccount(id=id), StoryFold()
    requests: dict[int, dict[str, Any]] = {}
    for record in records:
        before = fold.prompts
        for outcome in fold.take(record):
            if isinstance(outcome, CallStory) and record.ts >= since_ms:
                _count(account, outcome)
        if fold.prompts > before and record.ts >= since_ms:
            account.prompt_count += 1
            account.prompts += [fold.prompt] if len(account.prompts) < MAX_LISTED else []
        if record.kind in ("message", "reached") and record.ts >= since_ms:
            _note(record, account, requests)
    _add_requests(account, requests)
    return account


def _note(record: Record, account: SessionAccount, requests: dict[int, dict[str, Any]]) -> None:
    payload = payload_of(record)
    if isinstance(payload, MessageRecord) and is_request_row(payload.message):
        requests[payload.message.ts] = request_info(payload.message.text) or {}
    elif isinstance(payload, ReachedRecord):
        _more(account.reached, payload.place)


def _add_requests(account: SessionAccount, requests: dict[int, dict[str, Any]]) -> None:
    account.requests = len(requests)
    for info in requests.values():
        cost = info.get("cost")
        account.is_cost_known &= isinstance(cost, int | float)
        account.cost += cost if isinstance(cost, int | float) else 0
        tokens = [value if isinstance(value, int) else 0 for value in (info.get("tokensIn"), info.get("tokensOut"))]
        account.tokens_in, account.tokens_out = account.tokens_in + tokens[0], account.tokens_out + tokens[1]


def _count(account: SessionAccount, story: CallStory) -> None:
    _more(account.tools, story.tool)
    if story.model:
        _more(account.models, story.model)
    if story.intent:
        _more(account.intents, story.intent)
    entry = _entry(story)
    if story.is_refused:
        _more(account.refused, story.approver)
        _list(account.refusals, entry)
    else:
        _more(account.allowed, story.approver)
        account.failed += story.status == "error"
    if story.answer:
        account.asked += 1
        account.quick += story.looked_ms is not None and story.looked_ms < READING_MS
        _list(account.answers, entry)
    if not story.is_refused:
        _note_what_left(account, story, entry)


def _note_what_left(account: SessionAccount, story: CallStory, entry: AuditedCall) -> None:
    for host in _hosts(story.input):
        _more(account.hosts, host)
    server = story.tool.removeprefix(MCP_TOOL).partition("__")[0] if story.tool.startswith(MCP_TOOL) else ""
    server = server or next((value for key in MCP_FIELDS if isinstance(value := story.input.get(key), str)), "")
    if server:
        _more(account.servers, server)
    account.commands += isinstance(story.input.get("command"), str)
    if story.input.get("without_sandbox") or story.input.get("opened"):
        _list(account.unconfined, entry)


def _hosts(value: dict[str, Any]) -> list[str]:
    hosts = []
    for key in URL_FIELDS:
        text = value.get(key)
        if isinstance(text, str):
            try:
                host = urlsplit(text).hostname
            except ValueError:
                continue
            hosts += [host] if host else []
    return hosts


def _entry(story: CallStory) -> AuditedCall:
    return AuditedCall(
        at_ms=story.started_ms,
        tool=story.tool,
        what=next((value for value in story.input.values() if isinstance(value, str)), ""),
        status=story.status,
        by=story.approver,
        reason=story.refusal or story.reason,
        rule="" if story.refusal or story.rule == "hook" else story.rule,
        looked_ms=story.looked_ms,
        words=story.answer_text,
        intent=story.intent,
    )


def _more(counted: dict[str, int], name: str) -> None:
    if name in counted or len(counted) < MAX_NAMES:
        counted[name] = counted.get(name, 0) + 1


def _list(entries: list[AuditedCall], entry: AuditedCall) -> None:
    if len(entries) < MAX_LISTED:
        entries.append(entry)


def total(counts: Iterable[dict[str, int]]) -> Counter[str]:
    """The sum of the counts of several sessions."""
    added: Counter[str] = Counter()
    for each in counts:
        added.update(each)
    return added
