"""Accounts that processes share: no process forgets another, and what a killed one held is spent."""

import asyncio
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from robota.contracts.budget import UNLIMITED, Amount, Limit
from robota.engine.budgets.account import Account, Exhausted
from robota.engine.budgets.demand import demand_of
from robota.engine.budgets.ledger import DIRECTORY, Ledger
from robota.engine.budgets.ledger_file import ACCOUNTS, OWNERS, Period, SharedLimit, read_state
from robota.providers.pricing import Price

PRICE: Final = Price(input=1, output=1)
DEMAND: Final = demand_of(1_000, 4_000, PRICE)
DAY: Final = "2026-11-19"

# Takes holds from the shared account until nothing is left, and prints what it was charged. With `held` it takes one
# and waits to be killed.
PROCESS: Final = """
import asyncio, sys, time
from pathlib import Path
from robota.engine.budgets.account import Account, Exhausted
from robota.engine.budgets.demand import demand_of
from robota.engine.budgets.ledger import Ledger
from robota.engine.budgets.ledger_file import Period, SharedLimit
from robota.contracts.budget import Amount, Limit
from robota.providers.pricing import Price

shared = SharedLimit(key="p", name="project", period=Period.TOTAL, limit=Limit(money=int(sys.argv[2])))
ledger = Ledger(Path(sys.argv[1]), lambda: (shared,), lambda: "2026-11-19")

async def work(account, spent):
    while True:
        try:
            hold = await account.hold(demand_of(1000, 4000, Price(input=1, output=1)), 60)
        except Exhausted:
            return
        if sys.argv[3] == "held":
            print("held", flush=True)
            time.sleep(1000)
        used = hold.amount.money // 2
        spent.append(used)
        account.settle(hold, Amount(money=used, tokens=used, requests=1))

async def main():
    account, spent = Account("session", upstream=ledger), []
    print("ready", flush=True)
    sys.stdin.readline()
    await asyncio.gather(*(work(account, spent) for _ in range(1 if sys.argv[3] == "held" else 4)))
    ledger.close()
    print(sum(spent))

asyncio.run(main())
"""


def shared(limit: Limit, period: Period = Period.TOTAL) -> SharedLimit:
    return SharedLimit(key="p", name="project", period=period, limit=limit)


@contextmanager
def ledger_of(home: Path, *limits: SharedLimit, day: str = DAY, patience_s: float = 0.0) -> Iterator[Ledger]:
    ledger = Ledger(home, lambda: limits, lambda: day, patience_s)
    yield ledger
    ledger.close()


def started(home: Path, limit: int, how: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PROCESS, str(home), str(limit), how]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def test_processes_share_one_account(home: Path) -> None:
    processes = [started(home, 60_000, "all") for _ in range(3)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    spent = [int(process.communicate()[0]) for process in processes]
    state = read_state(home / DIRECTORY)
    assert state.accounts["p"].total.spent.money == sum(spent) <= 60_000
    assert sum(spent) > 60_000 - DEMAND.amount(4_000).money
    assert not state.holds and not list((home / DIRECTORY / OWNERS).iterdir())


def test_what_a_killed_process_held_is_spent(home: Path) -> None:
    process = started(home, 60_000, "held")
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == "held\n"
    limit = shared(Limit(money=60_000))
    with ledger_of(home, limit) as ledger:
        assert [state.held.money for state in ledger.states()] == [5_000], "it lives"
        process.send_signal(signal.SIGKILL)
        process.wait()
        id, amount = asyncio.run(ledger.hold(DEMAND))
        (state,) = ledger.states()
        assert (state.spent.money, state.estimated.money, state.held) == (5_000, 5_000, amount)
        ledger.settle(id, Amount(money=1, requests=1), is_estimated=False)
    total = read_state(home / DIRECTORY).accounts["p"].total
    assert (total.spent.money, total.estimated.money, total.spent.requests) == (5_001, 5_000, 2)


def test_a_day_ends_at_midnight_and_a_clock_that_is_set_back_gives_nothing_back(home: Path) -> None:
    """A hold belongs to the day on which it was taken, whenever its request ends."""
    daily = shared(Limit(requests=2), Period.DAY)
    monthly = shared(Limit(requests=4), Period.MONTH)
    now = [DAY]
    ledger = Ledger(home, lambda: (daily, monthly), lambda: now[0], 0.0)

    def use(count: int, ends_on: str | None = None) -> None:
        for _ in range(count):
            id, _ = asyncio.run(ledger.hold(DEMAND))
            now[0] = ends_on or now[0]
            ledger.settle(id, Amount(requests=1), is_estimated=False)

    def refused() -> str:
        with pytest.raises(Exhausted) as caught:
            asyncio.run(ledger.hold(DEMAND))
        limited = caught.value.state.limit
        return "day" if limited == daily.limit else "month"

    use(1)
    use(1, ends_on="2026-11-20")
    now[0] = DAY
    assert refused() == "day"
    now[0] = "2026-11-20"
    use(2)
    now[0] = "2026-11-21"
    assert refused() == "month"
    now[0] = DAY
    assert refused() == "day", "the clock was set back"
    now[0] = "2026-12-01"
    use(2)
    ledger.close()


def test_a_full_disk_refuses_instead_of_forgetting(home: Path) -> None:
    """Without room for a hold nothing is sent; what was settled meanwhile is written when there is room again."""
    with ledger_of(home, shared(Limit(money=60_000))) as ledger:
        id, _ = asyncio.run(ledger.hold(DEMAND))
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            ledger.settle(id, Amount(money=10), is_estimated=False)
            with pytest.raises(Exhausted) as caught:
                asyncio.run(Account("session", upstream=ledger).hold(DEMAND, 0))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, before)
        assert "cannot be written" in caught.value.cause
    state = read_state(home / DIRECTORY)
    assert state.accounts["p"].total.spent.money == 10 and not state.holds


def test_a_damaged_file_is_not_taken_for_an_empty_one(home: Path) -> None:
    with ledger_of(home, shared(Limit(money=60_000))) as ledger:
        asyncio.run(ledger.hold(DEMAND))
        (home / DIRECTORY / ACCOUNTS).write_text('{"accounts": {"p"')
        with pytest.raises(Exhausted) as caught:
            asyncio.run(ledger.hold(DEMAND))
        assert "damaged" in caught.value.cause


def test_a_task_that_is_stopped_while_it_takes_a_hold_leaves_none(home: Path) -> None:
    async def run(ledger: Ledger) -> None:
        account = Account("session", UNLIMITED, upstream=ledger)
        taking = asyncio.create_task(account.hold(DEMAND, 60))
        await asyncio.sleep(0)
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
        assert account.held == Amount()

    with ledger_of(home, shared(Limit(money=60_000))) as ledger:
        asyncio.run(run(ledger))
    state = read_state(home / DIRECTORY)
    assert not state.holds and all(account.total.spent == Amount() for account in state.accounts.values())
