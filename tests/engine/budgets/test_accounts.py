"""Accounts: whatever is held and settled, in whatever order, no limit is exceeded and every hold ends."""

import asyncio
from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.budget import UNLIMITED, Amount, Limit
from robota.engine.budgets.account import Account, Exhausted, Hold
from robota.engine.budgets.demand import LEAST_OUTPUT, Demand, demand_of
from robota.providers.pricing import FREE, Price

DOLLAR: Final = Price(input=1, output=2)
MEASURES: Final = ("money", "tokens", "requests", "milliseconds")

small = st.integers(0, 60_000)
limits = st.builds(
    Limit,
    money=st.none() | small,
    tokens=st.none() | small,
    requests=st.none() | st.integers(0, 20),
    milliseconds=st.none() | st.integers(0, 3_000_000),
)
demands = st.builds(demand_of, st.integers(0, 3_000), st.integers(1, 9_000), st.sampled_from([DOLLAR, FREE, None]))


def within(account: Account) -> bool:
    return all(
        getattr(account.spent, name) + getattr(account.held, name) <= limit
        for name, limit in account.limit.of_measures()
    )


def part_of(held: Amount, share: float) -> Amount:
    return Amount(**{name: int(getattr(held, name) * share) for name in MEASURES})


Worker = tuple[int, float, str]
workers = st.lists(
    st.tuples(st.integers(0, 3), st.floats(0, 1), st.sampled_from(["settle", "crash", "stop"])), min_size=1, max_size=32
)


async def work(accounts: Sequence[Account], worker: Worker, demand: Demand, turns: list[int]) -> None:
    """A worker makes three requests; each is charged a part of its hold, or all of it after a crash."""
    place, share, how = worker
    account = accounts[place % len(accounts)]
    for _ in range(3):
        try:
            hold = await account.hold(demand, patience_s=60)
        except Exhausted:
            return
        assert all(map(within, account.path))
        for _ in range(turns[place % len(turns)]):
            await asyncio.sleep(0)
        if how == "stop":
            account.settle(hold, Amount())
        elif how == "crash":
            account.settle(hold, hold.amount, is_estimated=True)
        else:
            account.settle(hold, part_of(hold.amount, share))


@given(
    limits, limits, limits, st.lists(demands, min_size=1, max_size=4), workers, st.lists(st.integers(0, 5), min_size=1)
)
def test_no_schedule_spends_more_than_any_limit(
    top: Limit, left: Limit, right: Limit, wanted: list[Demand], many: list[Worker], turns: list[int]
) -> None:
    async def run() -> None:
        root = Account("session", top)
        accounts = [root, Account("left", left, root), Account("right", right, root)]
        accounts.append(Account("below", UNLIMITED, accounts[1]))
        jobs = (work(accounts, worker, wanted[number % len(wanted)], turns) for number, worker in enumerate(many))
        await asyncio.gather(*jobs)
        for account in accounts:
            assert within(account) and account.held == Amount(), "a hold was left open"
            assert not account._queue, "somebody waits for ever"

    asyncio.run(run())


@pytest.mark.parametrize("name", MEASURES)
def test_nothing_is_not_without_limit(name: str) -> None:
    """The classic: a child that is given 0 must not take it for unlimited, and a parent's 0 holds for it, too."""

    async def run(limit: Limit, above: Limit) -> None:
        account = Account("child", limit, Account("parent", above))
        for price in (DOLLAR, FREE, None):
            with pytest.raises(Exhausted):
                await account.hold(demand_of(10, 10, price), patience_s=60)

    nothing = Limit(**{name: 0})
    asyncio.run(run(nothing, UNLIMITED))
    asyncio.run(run(UNLIMITED, nothing))


@given(limits, demands)
def test_a_hold_is_a_bound_that_fits(free: Limit, demand: Demand) -> None:
    amount = demand.fitting(free)
    if amount is None:
        return
    assert all(getattr(amount, name) <= left for name, left in free.of_measures())
    output = demand.output_of(amount)
    assert min(LEAST_OUTPUT, demand.most_output) <= output <= demand.most_output
    assert amount.money == demand.amount(output).money, "the output that is allowed is paid for"


def test_who_comes_first_is_served_first() -> None:
    """A small request does not overtake a large one that waits for what a third one gives back."""

    async def run() -> list[str]:
        account, served = Account("session", Limit(tokens=10_000)), []
        first = await account.hold(demand_of(0, 9_000, FREE), 60)

        async def wait(name: str, output: int) -> Hold:
            hold = await account.hold(demand_of(10_000 - output, output, FREE), 60)
            served.append(name)
            return hold

        jobs = [asyncio.create_task(wait("large", 8_000))]
        await asyncio.sleep(0)
        jobs.append(asyncio.create_task(wait("small", 9_500)))
        await asyncio.sleep(0)
        account.settle(first, Amount())
        account.settle(await jobs[0], Amount())
        account.settle(await jobs[1], Amount())
        return served

    assert asyncio.run(run()) == ["large", "small"]


def test_a_task_that_is_stopped_while_it_waits_lets_the_next_one_pass() -> None:
    async def run() -> None:
        account, demand = Account("session", Limit(requests=1)), demand_of(0, 100, FREE)
        first = await account.hold(demand, 60)
        waiting = [asyncio.create_task(account.hold(demand, 60)) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        account.settle(first, Amount())
        account.settle(await waiting[1], Amount(requests=1))
        assert account.held == Amount()

    asyncio.run(run())


def test_a_child_cannot_spend_what_its_sibling_has() -> None:
    async def run() -> None:
        root = Account("session", Limit(money=100_000))
        child, sibling = Account("child", Limit(money=40_000), root), Account("sibling", UNLIMITED, root)
        with pytest.raises(Exhausted):
            while True:
                hold = await child.hold(demand_of(10_000, 5_000, DOLLAR), 60)
                child.settle(hold, hold.amount)
        assert child.spent.money <= 40_000
        assert sibling.free.money is not None and sibling.free.money >= 60_000

    asyncio.run(run())
