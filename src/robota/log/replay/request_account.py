"""Adds up the requests of a task from its rows: tokens, cost, size of the context."""

from collections.abc import Iterable
from typing import Any

import msgspec

from robota.protocol.conversation import Usage
from robota.protocol.message import Message
from robota.protocol.state import is_request_row


class TaskTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of a task's requests. The cost is None if any of their prices is unknown.

    The tokens of `estimated` of them were not counted by a server. `saved` is how much more they would have cost
    without the provider's cache; None if no price was known.
    """

    requests: int = 0
    usage: Usage = Usage()
    cost: float | None = 0.0
    saved: float | None = 0.0
    estimated: int = 0


class RequestAccount(msgspec.Struct, frozen=True, kw_only=True):
    """The totals while rows are counted: the sums, and how many values were unknown."""

    requests: int = 0
    estimated: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    unknown_costs: int = 0
    saved: float = 0.0
    known_savings: int = 0
    cached_requests: int = 0

    @property
    def totals(self) -> TaskTotals:
        return TaskTotals(
            requests=self.requests,
            estimated=self.estimated,
            usage=self.usage,
            cost=None if self.unknown_costs else self.cost,
            saved=self.saved if self.known_savings or not self.cached_requests else None,
        )


class ContextSize(msgspec.Struct, frozen=True, gc=False):
    """The number of tokens in the window. `reduction_id` is set if a condensation or truncation reported it."""

    tokens: int
    reduction_id: str = ""


def counted(rows: Iterable[Message], before: RequestAccount) -> RequestAccount:
    """The account after these rows, each in its last version."""
    account = before
    for row in rows:
        if is_request_row(row) and (info := request_info(row.text)):
            account = _with_request(account, info)
        if row.context_condense is not None:
            account = _with_cost(account, row.context_condense.get("cost"))
    return account


def with_side_request(before: RequestAccount, cost: float | None) -> RequestAccount:
    """The account with a request added that does not have a row."""
    return _with_cost(before, cost)


def context_size_of(row: Message) -> ContextSize | None:
    """The context size that a row reports, if it does."""
    reduction = row.context_condense or row.context_truncation
    if reduction is not None:
        tokens = _whole(reduction.get("newContextTokens"))
    else:
        info = request_info(row.text) if is_request_row(row) else None
        is_counted = info is not None and info.get("estimated") is not True
        tokens = _whole(info.get("tokensIn")) + _whole(info.get("tokensOut")) if info and is_counted else 0
    if not tokens:
        return None
    identity = (reduction or {}).get("condenseId") or (reduction or {}).get("truncationId")
    return ContextSize(tokens, identity if isinstance(identity, str) else "")


def request_info(text: str | None) -> dict[str, Any] | None:
    """The JSON object in a request row; None for other text, which is treated as finished."""
    if not text:
        return {}
    try:
        info = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return info if isinstance(info, dict) else None


def _with_request(account: RequestAccount, info: dict[str, Any]) -> RequestAccount:
    account = _with_cost(account, info.get("cost"))
    saved = info.get("cacheSavings")
    return msgspec.structs.replace(
        account,
        usage=account.usage + _usage(info),
        estimated=account.estimated + (info.get("estimated") is True),
        saved=account.saved + (saved if isinstance(saved, int | float) else 0),
        known_savings=account.known_savings + isinstance(saved, int | float),
        cached_requests=account.cached_requests + bool(info.get("cacheReads")),
    )


def _with_cost(account: RequestAccount, cost: Any) -> RequestAccount:
    is_known = isinstance(cost, int | float)
    return msgspec.structs.replace(
        account,
        requests=account.requests + 1,
        cost=account.cost + (cost if is_known else 0),
        unknown_costs=account.unknown_costs + (not is_known),
    )


def _usage(info: dict[str, Any]) -> Usage:
    written, read = _whole(info.get("cacheWrites")), _whole(info.get("cacheReads"))
    return Usage(
        input_tokens=max(0, _whole(info.get("tokensIn")) - written - read),
        output_tokens=_whole(info.get("tokensOut")),
        cache_creation_input_tokens=written,
        cache_read_input_tokens=read,
    )


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0
