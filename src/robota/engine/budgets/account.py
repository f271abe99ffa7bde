"""The accounts of a session, as a tree: a hold takes from an account and all above it, or from none of them."""

import asyncio
from collections import deque
from contextlib import suppress
from typing import Protocol

import msgspec

from robota.contracts.budget import UNLIMITED, Amount, Limit
from robota.engine.budgets.demand import Demand


class AccountState(msgspec.Struct, frozen=True, kw_only=True):
    """An account as it is now. `estimated` is the part of `spent` that no server has reported."""

    name: str
    limit: Limit
    spent: Amount = Amount()
    estimated: Amount = Amount()
    held: Amount = Amount()

    @property
    def free(self) -> Limit:
        return self.limit.left_after(self.spent + self.held)


class Exhausted(Exception):
    """A hold does not fit into an account, and nothing will come back to it. `cause`: why it cannot be known."""

    def __init__(self, state: AccountState, least: Amount, cause: str = "") -> None:
        super().__init__(state.name)
        self.state = state
        self.least = least
        self.cause = cause


class Upstream(Protocol):
    """Accounts above a session that other processes use, too: those of a project, of an organisation, of a fleet.

    A hold there is a lease: it can be for one request, or a block from which another process takes its own holds.
    """

    async def hold(self, demand: Demand) -> tuple[str, Amount]:
        """Take as much of the demand as fits, under a new id. Raises `Exhausted`."""
        ...

    def settle(self, id: str, used: Amount, *, is_estimated: bool) -> None:
        """Give the hold back, and charge what was used; without waiting for the disk or the network."""
        ...

    def states(self) -> tuple[AccountState, ...]:
        """The accounts as they are now, the smallest first."""
        ...

    def close(self) -> None:
        """The session ends. What is still held counts as spent."""
        ...


class Hold:
    """What is taken for one request. It is settled exactly once."""

    def __init__(self, account: "Account", amount: Amount) -> None:
        self.account = account
        self.amount = amount
        self.upstream: str | None = None
        self.is_open = True


class Account:
    """A node of the tree. Within a process, holds are atomic because nothing else runs while they are taken."""

    def __init__(
        self,
        name: str,
        limit: Limit = UNLIMITED,
        parent: "Account | None" = None,
        upstream: Upstream | None = None,
    ) -> None:
        """`upstream` are the accounts above the root."""
        self.name = name
        self.limit = limit
        self.spent = Amount()
        self.estimated = Amount()
        self.held = Amount()
        self.upstream: Upstream | None = upstream if parent is None else parent.upstream
        self.path: tuple[Account, ...] = (self,) if parent is None else (self, *parent.path)
        self._queue: deque[asyncio.Event] = deque()

    @property
    def state(self) -> AccountState:
        return AccountState(
            name=self.name, limit=self.limit, spent=self.spent, estimated=self.estimated, held=self.held
        )

    @property
    def states(self) -> tuple[AccountState, ...]:
        """This account and those above it."""
        above = () if self.upstream is None else self.upstream.states()
        return (*(account.state for account in self.path), *above)

    @property
    def free(self) -> Limit:
        """What is free in this account and all above it."""
        free = UNLIMITED
        for state in self.states:
            free = free.narrowed(state.free)
        return free

    async def hold(self, demand: Demand, patience_s: float) -> Hold:
        """Take as much of a demand as fits. If others may give something back, wait for that, first come first served.

        Raises `Exhausted`.
        """
        hold = self._take(demand) or await self._wait(demand, patience_s)
        if self.upstream is not None:
            await self._hold_upstream(hold, demand)
        return hold

    def lease(self, wanted: Limit) -> Hold:
        """Take a block for another process, which takes its own holds from it and from accounts that processes share.

        Raises `Exhausted`.
        """
        free = UNLIMITED
        for account in self.path:
            free = free.narrowed(account.state.free)
            if any(left == 0 for _, left in account.state.free.of_measures()):
                raise Exhausted(account.state, Amount())
        hold = Hold(self, Amount(**dict(free.narrowed(wanted).of_measures())))
        for account in self.path:
            account.held += hold.amount
        return hold

    def settle(self, hold: Hold, used: Amount, *, is_estimated: bool = False) -> None:
        """Charge what was used, and give the rest back. A second time does nothing."""
        if not hold.is_open:
            return
        self._close(hold, used, is_estimated=is_estimated)
        if self.upstream is not None and hold.upstream is not None:
            self.upstream.settle(hold.upstream, used, is_estimated=is_estimated)

    def _take(self, demand: Demand) -> Hold | None:
        return None if any(account._queue for account in self.path) else self._fit(demand)

    def _fit(self, demand: Demand) -> Hold | None:
        free = UNLIMITED
        for account in self.path:
            free = free.narrowed(account.limit.left_after(account.spent + account.held))
        amount = demand.fitting(free)
        if amount is None:
            return None
        hold = Hold(self, amount)
        for account in self.path:
            account.held += amount
        return hold

    async def _wait(self, demand: Demand, patience_s: float) -> Hold:
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                return await self._in_turn(demand)
        raise Exhausted(self._short_of(demand).state, demand.least)

    async def _in_turn(self, demand: Demand) -> Hold:
        """Queue at the account that has too little, behind those who came before."""
        while True:
            account, turn = self._short_of(demand), asyncio.Event()
            account._queue.append(turn)
            try:
                while account._queue[0] is not turn or not account._fits(demand):
                    if not account._may_fit(demand):
                        raise Exhausted(account.state, demand.least)
                    turn.clear()
                    await turn.wait()
                hold = self._fit(demand)
            finally:
                account._queue.remove(turn)
                account._wake()
            if hold is not None:
                return hold

    def _short_of(self, demand: Demand) -> "Account":
        """The first account on the path in which the demand does not fit, or for which others wait already."""
        short = (account for account in self.path if account._queue or not account._fits(demand))
        return next(short, self)

    def _fits(self, demand: Demand) -> bool:
        return demand.fitting(self.state.free) is not None

    def _may_fit(self, demand: Demand) -> bool:
        """Whether it fits once everything that is held has come back."""
        return demand.fitting(self.limit.left_after(self.spent)) is not None

    def _wake(self) -> None:
        if self._queue:
            self._queue[0].set()

    async def _hold_upstream(self, hold: Hold, demand: Demand) -> None:
        assert self.upstream is not None
        output = demand.output_of(hold.amount)
        try:
            id, amount = await self.upstream.hold(msgspec.structs.replace(demand, most_output=output))
        except BaseException:
            self._close(hold, Amount(), is_estimated=False)
            raise
        for account in self.path:
            account.held -= hold.amount - amount
            account._wake()
        hold.upstream, hold.amount = id, amount

    def _close(self, hold: Hold, used: Amount, *, is_estimated: bool) -> None:
        hold.is_open = False
        for account in hold.account.path:
            account.held -= hold.amount
            account.spent += used
            if is_estimated:
                account.estimated += used
        for account in hold.account.path:
            account._wake()
