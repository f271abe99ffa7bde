"""The budget of one task: before each request it holds what that can cost, afterwards it charges what it did cost."""

from collections.abc import Iterable
from time import monotonic
from types import TracebackType
from typing import Final

import msgspec

from robota.contracts.budget import Amount, Limit, in_words, micro_dollars
from robota.engine.budgets.account import Account, AccountState, Exhausted, Hold
from robota.engine.budgets.bounds import InputBound
from robota.engine.budgets.demand import Demand, demand_of
from robota.engine.budgets.session_budget import SESSION, SessionBudget, nearly_used
from robota.protocol.conversation import BudgetAccount, Usage
from robota.providers.chunks import ModelRequest

# Others end within the longest time of a request, or never.
PATIENCE_S: Final = 900.0
UNPRICED: Final = (
    "what {model} costs is unknown. Set its price in US dollars per million tokens: robota config set "
    "'models.{model}.price' '{{\"input\": 1, \"output\": 2}}'. Or limit the tokens: --max-tokens-total N"
)
IN_WORDS_FOR_MODEL: Final = "{} Finish what matters most, and say what remains."


class TaskBudget:
    """Takes holds for the requests of a task, from its account and all above it."""

    def __init__(self, session: SessionBudget, account: Account) -> None:
        self.session = session
        self.account = account
        self._input = InputBound()
        self._told: set[str] = set()

    async def hold(self, request: ModelRequest) -> "RequestHold":
        """Take what a request can cost. Raises `Exhausted`."""
        price = self.session.price_of(request.model)
        if price is None:
            self._refuse_unpriced(request.model)
        bound = self.session.outputs.of(request.model, request.max_output_tokens)
        demand = demand_of(self._input.tokens(request), bound, price)
        hold = await self.account.hold(demand, PATIENCE_S)
        return RequestHold(self, request, demand, hold)

    def lease(self) -> "BudgetLease":
        """Take what the turn of an agent in a process of its own may use: its own limit, or half of what is free.

        Raises `Exhausted`.
        """
        halves = {measure: (left + 1) // 2 for measure, left in self.account.free.of_measures()}
        own = self.account.limit.left_after(self.account.spent)
        return BudgetLease(self, self.account.lease(Limit(**{**halves, **dict(own.of_measures())})))

    @property
    def accounts(self) -> tuple[BudgetAccount, ...]:
        """The accounts that limit the task, for clients."""
        return tuple(map(shown_account, self.account.states))

    @property
    def left(self) -> str:
        """What is free, in words."""
        return ", ".join(in_words(measure, free) for measure, free in self.account.free.of_measures())

    def reminder(self) -> str:
        """What the model is told, once, of accounts that are nearly used up."""
        words = []
        for state in self.account.states:
            nearly = nearly_used(state)
            if nearly and state.name not in self._told:
                self._told.add(state.name)
                words.append(IN_WORDS_FOR_MODEL.format(nearly))
        return "\n".join(words)

    def learn(self, request: ModelRequest, demand: Demand, usage: Usage, *, bound: int, is_cut: bool) -> None:
        """Learn from what a server counted."""
        self._input.counted(request, demand.input_tokens, usage.total_in)
        self.session.outputs.ended(request.model, usage.output_tokens, bound, is_cut=is_cut)

    def _refuse_unpriced(self, model: str) -> None:
        for state in self.account.states:
            if state.limit.money is not None:
                raise Exhausted(state, Amount(), UNPRICED.format(model=model))


def shown_account(state: AccountState) -> BudgetAccount:
    """An account as clients see it."""

    def limited(amount: Amount | Limit) -> dict[str, int]:
        return {name: getattr(amount, name) for name, _ in state.limit.of_measures()}

    return BudgetAccount(
        name=state.name,
        limit=limited(state.limit),
        spent=limited(state.spent),
        estimated=limited(state.estimated),
        held=limited(state.held),
        free=limited(state.free),
    )


class BudgetLease:
    """A block for the turn of an agent in another process, within `with`.

    At the end, what it reported is charged; all of it, if the process `is_lost`.
    """

    def __init__(self, budget: TaskBudget, hold: Hold) -> None:
        self._session = budget.session
        self._hold = hold
        self._id = budget.session.opened(hold)
        self._reported: BudgetAccount | None = None
        self.is_lost = False

    @property
    def limit(self) -> dict[str, int]:
        """The limits of the session there."""
        free = self._hold.account.free
        return {measure: getattr(self._hold.amount, measure) for measure, _ in free.of_measures()}

    def note(self, accounts: Iterable[BudgetAccount]) -> None:
        """Take over what the other process has spent so far."""
        own = next((account for account in accounts if account.name == SESSION), None)
        self._reported = own or self._reported

    def __enter__(self) -> "BudgetLease":
        return self

    def __exit__(self, *_: object) -> None:
        reported, used = self._reported, Amount()
        is_estimated = self.is_lost or (reported is not None and any(reported.estimated.values()))
        if self.is_lost:
            used = self._hold.amount
        elif reported is not None:
            used = Amount(**reported.spent)
        self._session.closed(self._id, self._hold, used, is_estimated=is_estimated)


class RequestHold:
    """What is held for one request, within `with`. If nobody settles it, all of it counts as spent."""

    def __init__(self, budget: TaskBudget, request: ModelRequest, demand: Demand, hold: Hold) -> None:
        self._budget = budget
        self._demand = demand
        self._hold = hold
        self._id = budget.session.opened(hold)
        self._began = monotonic()
        self._output = demand.output_of(hold.amount)
        self.request = msgspec.structs.replace(request, max_output_tokens=self._output)

    @property
    def seconds(self) -> float | None:
        """How long the request may take; None if time is not limited."""
        limits = (state.limit for state in self._hold.account.states)
        is_timed = any(limit.milliseconds is not None for limit in limits)
        return self._hold.amount.milliseconds / 1000 if is_timed else None

    def settle(self, usage: Usage, cost: float | None, finish: str | None, *, was_answered: bool) -> Amount | None:
        """Charge what was reported; returns the estimate that was charged instead, if nothing complete was reported.

        A request that was refused before it was answered has cost nothing.
        """
        passed = Amount(requests=1, milliseconds=max(0, round((monotonic() - self._began) * 1000)))
        if not was_answered:
            self._close(passed, is_estimated=False)
            return None
        held = self._hold.amount
        if finish is None or (usage == Usage() and not cost):
            estimate = passed + Amount(money=held.money, tokens=held.tokens)
            self._close(estimate, is_estimated=True)
            return estimate
        money = self._demand_money(usage) if cost is None else micro_dollars(cost)
        tokens = usage.context_tokens or held.tokens  # some servers report only the cost
        self._close(passed + Amount(money=money, tokens=tokens), is_estimated=False)
        is_cut = finish == "max_tokens"
        self._budget.learn(self.request, self._demand, usage, bound=self._output, is_cut=is_cut)
        return None

    def _demand_money(self, usage: Usage) -> int:
        counted = msgspec.structs.replace(self._demand, input_tokens=usage.total_in)
        return counted.amount(usage.output_tokens).money

    def _close(self, used: Amount, *, is_estimated: bool) -> None:
        self._budget.session.closed(self._id, self._hold, used, is_estimated=is_estimated)

    def __enter__(self) -> "RequestHold":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(self._hold.amount, is_estimated=True)
