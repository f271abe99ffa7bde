"""What a decision of a budget costs: a hold and its settlement, in a tree of three accounts with 32 open holds."""

import asyncio
import statistics
import time

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from robota.contracts.budget import Amount, Limit
from robota.engine.budgets.account import Account
from robota.engine.budgets.demand import demand_of
from robota.providers.pricing import Price

RUNS = 100
DECISIONS = 200
OPEN = 32
TARGET_US = 50.0


def budgets(_: Bench) -> list[Measurement]:
    mine, least = asyncio.run(times_us())
    return [
        Measurement(
            name="a decision of a budget",
            value=mine,
            target=TARGET_US,
            unit="µs",
            detail=f"{mine / least:.0f} times adding two amounts ({least:.2f} µs), medians of {RUNS}",
        )
    ]


async def times_us() -> tuple[float, float]:
    """A hold with its settlement, and one sum of amounts, in turn."""
    limit = Limit(money=10**12, tokens=10**12)
    root = Account("session", limit)
    agent = Account("agent", limit, Account("agent above", limit, root))
    demand, used = demand_of(10_000, 8_192, Price(input=3, output=15)), Amount(money=1, tokens=1, requests=1)
    for _ in range(OPEN):
        await agent.hold(demand, 1.0)
    decided: list[float] = []
    floor: list[float] = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for _ in range(DECISIONS):
            agent.settle(await agent.hold(demand, 1.0), used)
        between = time.perf_counter()
        for _ in range(DECISIONS):
            _sum = used + used
        floor.append(time.perf_counter() - between)
        decided.append(between - start)
    scale = 1e6 / DECISIONS
    return statistics.median(decided) * scale, statistics.median(floor) * scale
