"""Summarises a session record by record, so that only new records of a grown log are read."""

import time
from enum import StrEnum
from typing import Any, Final

import msgspec

from robota.log.kinds.calls import AnswerRecord, ToolStartRecord
from robota.log.kinds.requests import RequestRecord
from robota.log.kinds.row_glance import RowGlance, glanced_row
from robota.log.kinds.session import EndRecord, NameRecord, OriginRecord, SessionHeader, TaskRecord, TitleRecord
from robota.log.record import Payload, Record, payload_of
from robota.log.replay.request_account import request_info
from robota.protocol.asks.kinds import INTERACTIVE_ASKS, RESUMABLE_ASKS
from robota.protocol.message import BACKGROUND_OUTPUT

TITLE_LENGTH: Final = 200
# Names of tools and models come from logs; a hostile log must not make the index grow without limit.
MAX_NAMES: Final = 200
# Arguments of calls that name files, including those of other agents.
FILE_FIELDS: Final = ("path", "file_path", "filePath", "notebook_path")
FILES_FIELDS: Final = ("paths", "files")
MAX_FILES: Final = 2_000
MICRO: Final = 1_000_000
READ_KINDS: Final = frozenset({"session", "task", "answer", "toolStart", "request", "end", "name", "title", "origin"})


class SessionStatus(StrEnum):
    """How a session ended, according to its log."""

    EMPTY = "empty"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class SpentOn(msgspec.Struct, array_like=True):
    """What requests to one model used on one day, in micro-dollars and tokens.

    The price of `unpriced` of them is unknown; of `estimated` ones, no server has counted the tokens.
    """

    money: int = 0
    tokens: int = 0
    requests: int = 0
    unpriced: int = 0
    estimated: int = 0


class SummaryFold(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """The summary after the records so far, with the state to continue. It is stored in the index as JSON."""

    header: SessionHeader | None = None
    name: str | None = None
    origin: OriginRecord | None = None
    title: str = ""
    first_ts: int = 0
    last_ts: int = 0
    turns: int = 0
    cost: float = 0.0
    is_cost_known: bool = True
    tokens: int = 0
    request_ts: int = 0
    request_cost: float = 0.0
    request_tokens: int = 0
    counted_ts: int = 0
    request_day: str = ""
    request_model: str = ""
    spending: dict[str, dict[str, SpentOn]] = {}  # by local day and model
    models: dict[str, int] = {}
    tools: dict[str, int] = {}
    files: dict[str, int] = {}
    open_tasks: set[str] = set()
    subtasks: set[str] = set()
    begun: set[str] = set()
    outcome: str | None = None
    last_prompt_ts: int = 0
    last_row: RowGlance | None = None
    answered_ts: int = 0

    @property
    def status(self) -> SessionStatus:
        """How the session ended, if no process runs it."""
        row = self.last_row
        if row is None:
            return SessionStatus.EMPTY
        is_open = not row.is_answered and not row.interrupted and row.ts > self.answered_ts
        if is_open and not row.partial and row.ask in INTERACTIVE_ASKS | RESUMABLE_ASKS:
            return SessionStatus.WAITING
        if self.open_tasks or self.outcome in (None, "interrupted"):
            return SessionStatus.INTERRUPTED
        return SessionStatus.COMPLETED if self.outcome == "completed" else SessionStatus.FAILED

    def take(self, record: Record) -> None:
        """Add the next record. Unreadable ones are skipped."""
        self.first_ts = self.first_ts or record.ts
        self.last_ts = max(self.last_ts, record.ts)
        if record.kind == "message":
            self._take_row(record)
        elif record.kind in READ_KINDS:
            payload = payload_of(record)
            self._take_life(payload)
            self._take_call(payload)

    def _take_life(self, payload: Payload | None) -> None:
        """Add a record about the session or its tasks."""
        match payload:
            case SessionHeader():
                self.header = payload
                count(self.models, payload.model, 0)
            case NameRecord():
                self.name = payload.name or ""
            case TitleRecord():
                self._take_title(payload)
            case OriginRecord():
                self.origin = payload
                self.spending = {}  # the records so far are copies: another session has paid for them
            case TaskRecord():
                self._begin(payload)
            case EndRecord():
                self.open_tasks.discard(payload.task_id)
                if payload.task_id not in self.subtasks:
                    self.outcome = payload.outcome
            case _:
                pass

    def _take_title(self, record: TitleRecord) -> None:
        self.title = record.title[:TITLE_LENGTH] or self.title
        self.cost += record.cost or 0.0
        self.is_cost_known = self.is_cost_known and record.cost is not None

    def _take_call(self, payload: Payload | None) -> None:
        """Add a record about requests, calls or asks."""
        match payload:
            case AnswerRecord():
                self.answered_ts = max(self.answered_ts, payload.ts)
            case RequestRecord():
                count(self.models, payload.model)
                self.request_model = payload.model
            case ToolStartRecord():
                count(self.tools, payload.tool)
                for path in files_named(payload.input):
                    count(self.files, path, most=MAX_FILES)
            case _:
                pass

    def _begin(self, record: TaskRecord) -> None:
        if len(self.open_tasks) < MAX_NAMES:
            self.open_tasks.add(record.task_id)
        if record.parent_task_id is not None and len(self.subtasks) < MAX_FILES:
            self.subtasks.add(record.task_id)

    def _take_row(self, record: Record) -> None:
        glanced = glanced_row(record)
        if glanced is None:
            return
        row = glanced.message
        if row.say == "api_req_started":
            self._take_request(row)
        elif glanced.task_id not in self.subtasks and not row.partial:
            self._take_prompt(glanced.task_id, row)
        is_newest = self.last_row is None or row.ts >= self.last_row.ts
        if is_newest and row.say != BACKGROUND_OUTPUT:
            self.last_row = msgspec.structs.replace(row, text=None)

    def _take_prompt(self, task_id: str, row: RowGlance) -> None:
        """Add a prompt. The first text of a task is one; later texts are the model's, except feedback."""
        is_first = row.say == "text" and task_id not in self.begun
        if (not is_first and row.say != "user_feedback") or row.ts <= self.last_prompt_ts:
            return
        if len(self.begun) < MAX_FILES:
            self.begun.add(task_id)
        self.last_prompt_ts = row.ts
        self.turns += 1
        if not self.title:
            self.title = " ".join((row.text or "")[: TITLE_LENGTH * 4].split())[:TITLE_LENGTH]

    def _take_request(self, row: RowGlance) -> None:
        """Add a request row, which is written several times, the last time with its cost."""
        info = request_info(row.text)
        if row.ts < self.request_ts or info is None or "cost" not in info:
            return
        if row.ts > self.request_ts:
            self.request_ts, self.request_cost, self.request_tokens = row.ts, 0.0, 0
            self.request_day = local_day(row.ts)
        tokens = sum(value for value in (info.get("tokensIn"), info.get("tokensOut")) if isinstance(value, int))
        more_tokens = tokens - self.request_tokens
        self.tokens += more_tokens
        self.request_tokens = tokens
        cost = info["cost"]
        more_cost = cost - self.request_cost if isinstance(cost, int | float) else 0.0
        if isinstance(cost, int | float):
            self.cost += more_cost
            self.request_cost = float(cost)
        else:
            self.is_cost_known = False
        self._spend(info, more_tokens, more_cost)

    def _spend(self, info: dict[str, Any], tokens: int, cost: float) -> None:
        """Add to the spending of the day. A row is written once with its cost; a later version changes the figures."""
        models = self.spending.setdefault(self.request_day, {})
        if self.request_model not in models and len(models) >= MAX_NAMES:
            return
        spent = models.setdefault(self.request_model, SpentOn())
        spent.money += round(cost * MICRO)
        spent.tokens += tokens
        if self.request_ts != self.counted_ts:
            self.counted_ts = self.request_ts
            spent.requests += 1
            spent.unpriced += not isinstance(info["cost"], int | float)
            spent.estimated += info.get("estimated") is True


def local_day(ts: int) -> str:
    """The local date of a timestamp: 2026-11-19."""
    return time.strftime("%Y-%m-%d", time.localtime(ts / 1000))


def files_named(call_input: dict[str, Any]) -> list[str]:
    """The files that the input of a call names."""
    single = [call_input.get(field) for field in FILE_FIELDS]
    lists = [call_input.get(field) for field in FILES_FIELDS]
    several = [_path_in(item) for value in lists if isinstance(value, list) for item in value[:MAX_FILES]]
    return [path for path in (*single, *several) if isinstance(path, str) and 0 < len(path) < 4096]


def count(names: dict[str, int], name: str, by: int = 1, most: int = MAX_NAMES) -> None:
    """Count a name, unless too many others were counted already."""
    if name in names or len(names) < most:
        names[name] = names.get(name, 0) + by


def _path_in(item: Any) -> Any:
    return item.get("path") if isinstance(item, dict) else item
