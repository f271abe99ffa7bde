"""The cost of each intent: requests of sessions while it was selected, read from their logs."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from robota.config.durable_file import read_file
from robota.intents.selection_record import KIND, MARK

MAX_LOG_BYTES = 1024**3
TASK = "task"
MESSAGE = "message"
REQUEST = b"api_req_started"
TASK_MARK = b'"kind":"task"'


class SpentOnIntent(msgspec.Struct, kw_only=True):
    """The cost of an intent: `cost` is the sum of known prices; `is_known` is false if one was unknown."""

    sessions: set[str]
    requests: int = 0
    cost: float = 0.0
    is_known: bool = True


class _Line(msgspec.Struct, frozen=True):
    kind: str
    payload: dict[str, Any]


def spent_on_intents(logs: Iterable[Path]) -> dict[str, SpentOnIntent]:
    """The costs by intent id. Unreadable logs are skipped, and logs without an intent are not decoded."""
    spent: dict[str, SpentOnIntent] = {}
    for log in logs:
        try:
            data = read_file(log, follow=False, most=MAX_LOG_BYTES)
        except OSError:
            continue
        if MARK in data:
            _add_costs(data, log.parent.name, spent)
    return spent


def _add_costs(data: bytes, session: str, spent: dict[str, SpentOnIntent]) -> None:
    """Read the requests of a log. A request row is written several times, the last time with its cost."""
    active: str | None = None
    of_request: dict[int, tuple[str, Any]] = {}
    for record in _records(data):
        payload = record.payload
        if record.kind == KIND:
            named = payload.get("intentId") or payload.get("intent_id")
            active = named if isinstance(named, str) else None
            if active is not None:
                spent.setdefault(active, SpentOnIntent(sessions=set())).sessions.add(session)
        elif record.kind == TASK and not (payload.get("parentTaskId") or payload.get("parent_task_id")):
            active = None
        elif record.kind == MESSAGE and active is not None and (cost := _cost(payload.get("message"))) is not None:
            of_request[cost[0]] = (active, cost[1])
    for id, price in of_request.values():
        _add(spent[id], price)


def _records(data: bytes) -> Iterator[_Line]:
    for line in data.splitlines():
        if MARK in line or REQUEST in line or TASK_MARK in line:
            with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                yield msgspec.json.decode(line, type=_Line)


def _cost(row: Any) -> tuple[int, Any] | None:
    """The time and the cost of a request row, if it has the cost already."""
    if not isinstance(row, dict) or row.get("say") != "api_req_started":
        return None
    fields = _fields(row.get("text"))
    return (row.get("ts", 0), fields["cost"]) if "cost" in fields else None


def _add(spent: SpentOnIntent, price: Any) -> None:
    spent.requests += 1
    if isinstance(price, int | float):
        spent.cost += price
    else:
        spent.is_known = False


def _fields(text: Any) -> dict[str, Any]:
    try:
        fields = msgspec.json.decode(text)
    except (msgspec.DecodeError, TypeError):
        return {}
    return fields if isinstance(fields, dict) else {}
