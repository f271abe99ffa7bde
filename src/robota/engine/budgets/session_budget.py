"""The budget of a session: its account, which its log remembers, and those of the agents below it."""

from collections.abc import Callable
from typing import Final

import msgspec

from robota.contracts.budget import UNLIMITED, Amount, Limit, in_words
from robota.engine.budgets.account import Account, AccountState, Exhausted, Hold, Upstream
from robota.engine.budgets.bounds import OutputBounds
from robota.engine.record.journal import Journal
from robota.log.kinds.session import BudgetRecord
from robota.providers.pricing import Price

SESSION: Final = "session"
AGENT: Final = "agent "
# From this share of a limit on, the user and the model are told.
MARK: Final = 0.8
UNWRITABLE: Final = "the log of the session cannot be written, so a hold would be forgotten."


class BudgetPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings and the options limit. `shared` are the accounts that other sessions use, too.

    `is_leased`: the session is an agent of another one, which holds its limit anew for each turn.
    """

    session: Limit = UNLIMITED
    agent: Limit = UNLIMITED
    shared: Upstream | None = None
    is_leased: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether the session itself is limited."""
        return not self.session.is_unlimited or self.shared is not None

    def close(self) -> None:
        """Close the shared accounts."""
        if self.shared is not None:
            self.shared.close()


class SessionBudget:
    """Keeps the accounts of a session. Everything that happens to them is in its log first."""

    def __init__(
        self,
        plan: BudgetPlan,
        journal: Journal,
        price_of: Callable[[str], Price | None],
        warn: Callable[[str], None],
    ) -> None:
        self.plan = plan
        self.root = Account(SESSION, plan.session, upstream=plan.shared)
        self.price_of = price_of
        self.outputs = OutputBounds()
        self._journal = journal
        self._warn = warn
        self._open: dict[str, Amount] = {}
        self._marked: set[str] = set()
        self._has_begun = False

    def restore(self, record: BudgetRecord | None, counted: Amount) -> None:
        """Take over what an earlier process spent, at least what its requests report.

        What it still held counts as spent: nobody knows what became of these requests. A rewind, which reads the log
        again in the same process, changes nothing.
        """
        if self._has_begun or self.plan.is_leased:
            return
        self._has_begun = True
        before = record or BudgetRecord(change="", account=SESSION, amount={})
        lost = sum(map(_amount, before.open.values()), Amount())
        self.root.spent = (_amount(before.spent) + lost).most_of(counted)
        self.root.estimated = _amount(before.estimated) + lost
        if before.open:
            self._write("estimated", SESSION, lost)

    def account_of_agent(self, name: str, above: Account, limit: Limit) -> Account:
        """The account of an agent: its own limit, within that of whoever started it."""
        return Account(f"{AGENT}{name}", limit.narrowed(self.plan.agent), above)

    def opened(self, hold: Hold) -> str:
        """Record a hold before its request is sent; returns its id. Raises `Exhausted` if that is not possible."""
        id = f"hold-{self._journal.next_ts()}"
        self._has_begun = True
        self._open[id] = hold.amount
        if not self._write("hold", hold.account.name, hold.amount, id):
            self.closed(id, hold, Amount(), is_estimated=False)
            raise Exhausted(hold.account.state, hold.amount, UNWRITABLE)
        return id

    def closed(self, id: str, hold: Hold, used: Amount, *, is_estimated: bool) -> None:
        """Charge what a request has used, and give back the rest."""
        if self._open.pop(id, None) is None:
            return
        hold.account.settle(hold, used, is_estimated=is_estimated)
        self._write("estimated" if is_estimated else "settled", hold.account.name, used, id)
        for state in hold.account.states:
            self._mark(state)

    def advice(self, state: AccountState) -> str:
        """What the user can do about an account that is used up and that this session cannot raise."""
        if state.name == SESSION:
            return "Start the session again with a higher limit: --max-budget-usd, --max-tokens-total."
        return "Raise its limit: robota config show budgets."

    def raise_limit(self) -> None:
        """Give the session as much again, because the user wants it."""
        given = Amount(**dict(self.plan.session.of_measures()))
        self.root.limit = self.root.limit.widened(given)
        self._marked.discard(SESSION)
        self._write("raised", SESSION, given)

    def _write(self, change: str, account: str, amount: Amount, id: str = "") -> bool:
        root = self.root
        record = BudgetRecord(
            change=change,
            account=account,
            amount=_measures(amount),
            id=id,
            limit=dict(root.limit.of_measures()),
            spent=_measures(root.spent),
            estimated=_measures(root.estimated),
            open={each: _measures(held) for each, held in self._open.items()},
        )
        return self._journal.write(record) is not None

    def _mark(self, state: AccountState) -> None:
        """Tell the user, once, that an account is nearly used up. A soft mark: nothing ends."""
        words = nearly_used(state)
        if words and state.name not in self._marked:
            self._marked.add(state.name)
            self._warn(words)


def _measures(amount: Amount) -> dict[str, int]:
    """An amount as it is recorded: without what is 0."""
    return {name: value for name in amount.__struct_fields__ if (value := getattr(amount, name))}


def _amount(recorded: dict[str, int]) -> Amount:
    """What of a record this version knows."""
    return Amount(**{name: value for name, value in recorded.items() if name in Amount.__struct_fields__})


def nearly_used(state: AccountState) -> str:
    """What of an account is nearly used up, in words; empty if nothing is."""
    for measure, limit in state.limit.of_measures():
        spent: int = getattr(state.spent, measure)
        if limit > 0 and spent >= MARK * limit:
            return f"The budget of {_named(state)} is nearly used up: {_of(measure, spent, limit)}."
    return ""


def refusal(error: Exhausted) -> str:
    """Why a request was not sent, for the user or the model that waits for it."""
    if error.cause:
        return f"The budget of {_named(error.state)} cannot be kept: {error.cause} Nothing was sent."
    return used_up(error.state, error.least)


def used_up(state: AccountState, least: Amount) -> str:
    """Why a request does not fit into an account, in words."""
    for measure, limit in state.limit.of_measures():
        used: int = getattr(state.spent, measure)
        held: int = getattr(state.held, measure)
        needs: int = getattr(least, measure)
        if used + held + needs > limit or used + held >= limit:
            rest = f", {in_words(measure, held)} held" if held else ""
            needed = f" A request needs {in_words(measure, needs)}." if needs else ""
            return f"The budget of {_named(state)} is used up: {_of(measure, used, limit)}{rest}.{needed}"
    return f"The budget of {_named(state)} is used up."


def _named(state: AccountState) -> str:
    return state.name if state.name.startswith(AGENT) else f"the {state.name}"


def _of(measure: str, used: int, limit: int) -> str:
    return f"{in_words(measure, used)} of {in_words(measure, limit)} spent"
