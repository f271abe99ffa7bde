"""Count turns, time, tokens, cost and denials while a task runs."""

import time
from typing import Any

import msgspec

from robota.clients.terminal.line import Handlers
from robota.protocol.conversation import BudgetAccount, Usage
from robota.protocol.events import (
    ContextUpdate,
    State,
    TaskTokenUsageUpdated,
    Thinking,
    ToolEnd,
    TurnReply,
)


class PermissionDenial(msgspec.Struct, frozen=True, kw_only=True):
    """A denied call, as listed in the result."""

    tool_name: str
    tool_use_id: str
    tool_input: dict[str, Any]


class ModelShare(msgspec.Struct, frozen=True, kw_only=True):
    """One model's share of the run."""

    usage: Usage = Usage()
    cost: float | None = 0.0


class Spending(msgspec.Struct, frozen=True, kw_only=True):
    """What a task has used. The cost is None if a price is unknown."""

    usage: Usage = Usage()
    cost: float | None = 0.0

    def since(self, before: "Spending") -> "Spending":
        """Without what was used before."""
        cost = None if self.cost is None or before.cost is None else self.cost - before.cost
        return Spending(usage=self.usage - before.usage, cost=cost)


class Tally:
    """Counts events. It has no handler for deltas, so that a long stream costs nothing here."""

    def __init__(self) -> None:
        self.session_id = ""
        self.num_turns = 0
        self.total_cost: float | None = 0.0
        self.context_window: int | None = None
        self.stop_reason: str | None = None
        self.models: dict[str, ModelShare] = {}
        self.denials: list[PermissionDenial] = []
        # What each task has used, and what a resumed one had used before this run, which is reported first.
        self._used: dict[str, Spending] = {}
        self._used_before: dict[str, Spending] = {}
        self._estimated: dict[str, int] = {}
        self._accounts: dict[str, BudgetAccount] = {}
        self._has_begun = True
        self._started = time.monotonic()
        self._request_started: float | None = None
        self._api_seconds = 0.0

    @property
    def handlers(self) -> Handlers:
        return {
            State: self._state,
            Thinking: self._thinking,
            TurnReply: self._turn_reply,
            ToolEnd: self._tool_end,
            TaskTokenUsageUpdated: self._usage_updated,
            ContextUpdate: self._context_update,
        }

    @property
    def usage(self) -> Usage:
        """The engine's total, which includes requests without a reply; else the sum of the replies."""
        reported = sum((spending.usage for spending in self._used.values()), Usage())
        return reported if reported != Usage() else sum((share.usage for share in self.models.values()), Usage())

    @property
    def estimated_requests(self) -> int:
        """How many requests there were whose tokens no server has counted."""
        return sum(self._estimated.values())

    @property
    def budget(self) -> tuple[BudgetAccount, ...]:
        """The accounts that limit the run, as they were last seen."""
        return tuple(self._accounts.values())

    @property
    def duration_ms(self) -> int:
        return _milliseconds(time.monotonic() - self._started)

    @property
    def duration_api_ms(self) -> int:
        open_for = 0.0 if self._request_started is None else time.monotonic() - self._request_started
        return _milliseconds(self._api_seconds + open_for)

    def _state(self, event: State) -> None:
        if not self.session_id:
            self._has_begun = not event.state.cline_messages
        self.session_id = event.state.session_id

    def _thinking(self, event: Thinking) -> None:
        self._has_begun = True
        if event.is_thinking:
            self._request_started = time.monotonic()
        elif self._request_started is not None:
            self._api_seconds += time.monotonic() - self._request_started
            self._request_started = None

    def _turn_reply(self, event: TurnReply) -> None:
        reply = event.reply
        self.num_turns += 1
        self.stop_reason = reply.stop_reason
        share = self.models.get(reply.model, ModelShare())
        cost = None
        if self.total_cost is not None and share.cost is not None:
            spent_before = sum(other.cost or 0.0 for other in self.models.values())
            cost = share.cost + max(0.0, self.total_cost - spent_before)
        self.models[reply.model] = ModelShare(usage=share.usage + reply.usage, cost=cost)

    def _tool_end(self, event: ToolEnd) -> None:
        if event.status == "denied":
            self.denials.append(
                PermissionDenial(tool_name=event.tool, tool_use_id=event.call_id, tool_input=event.input)
            )

    def _usage_updated(self, event: TaskTokenUsageUpdated) -> None:
        spending = Spending(usage=event.usage, cost=event.token_usage.total_cost)
        if not self._has_begun:
            self._has_begun = True
            self._used_before[event.task_id] = spending
            return
        self._estimated[event.task_id] = event.token_usage.estimated_requests
        self._accounts.update((account.name, account) for account in event.token_usage.budget)
        self._used[event.task_id] = spending.since(self._used_before.get(event.task_id, Spending()))
        costs = [each.cost for each in self._used.values()]
        self.total_cost = None if None in costs else sum(cost for cost in costs if cost is not None)

    def _context_update(self, event: ContextUpdate) -> None:
        self.context_window = event.max_tokens


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
