"""What several agents will probably use, from those that have ended: asked about before they start, not afterwards."""

import asyncio
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from robota.contracts.agent import StartAgent
from robota.contracts.budget import Amount, Limit, in_words, micro_dollars
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.engine.task.agents.agent import Agent
from robota.protocol.asks.ask import QuestionAsk, SuggestedAnswer

START: Final = "Start them all the same"
LEAVE: Final = "Do not start more of them"
NOTHING: Final = (
    "With a budget of 0 an agent can do nothing. Nothing was started. Leave the budget out, or give it some."
)
TOO_MUCH: Final = "Only {} of the budget is free. Nothing was started. Give the agent at most that."
UNPRICED: Final = (
    "What {} costs is unknown, so a budget in dollars cannot be kept. Nothing was started. Leave the budget out; "
    "max_turns limits the requests."
)
TOO_MANY: Final = "The agent was not started: {} {} Wait for the others, do some of it yourself, or start fewer."


class FanOut:
    """Asks the user, once for all agents that work at the same time, when they will probably use more than is free."""

    def __init__(self, runtime: TaskRuntime) -> None:
        self._runtime = runtime
        self._turn = asyncio.Lock()
        self._answer: str | None = None

    async def problem(self, order: StartAgent, agents: Iterable[Agent]) -> str | None:
        """Why another agent is not started. Without a user to ask, the forecast decides."""
        async with self._turn:
            if all(agent.is_over for agent in agents):
                self._answer = None
            budget = self._runtime.budget
            too_much = "" if budget is None else too_expensive(agents, (order,), budget.account.free)
            if not too_much or self._answer == START:
                return None
            if self._answer is None and self._runtime.options.launch.attended:
                suggestions = (SuggestedAnswer(answer=START), SuggestedAnswer(answer=LEAVE))
                answer = await self._runtime.ask(QuestionAsk(question=too_much, suggestions=suggestions))
                self._answer = answer.text
                if self._answer == START:
                    return None
            return TOO_MANY.format(too_much, f"The user says: {self._answer}." if self._answer else "")


def budget_problem(runtime: TaskRuntime, order: StartAgent) -> str | None:
    """Why an agent cannot have the budget that it is given."""
    wanted = None if order.budget is None else order.budget.money
    if wanted is None:
        return None
    model = order.model or runtime.options.model
    if wanted == 0:
        return NOTHING
    if runtime.services.model.price_of(model) is None:
        return UNPRICED.format(model)
    free = None if runtime.budget is None else runtime.budget.account.free.money
    return TOO_MUCH.format(in_words("money", free)) if free is not None and wanted > free else None


def forecast(ended: Sequence[Agent], orders: Iterable[StartAgent]) -> Amount:
    """The sum of the medians of similar agents; of all that have ended, where none was of the same type."""
    total = Amount()
    for order in orders:
        similar = [agent for agent in ended if agent.identity.definition.name == order.type] or ended
        if similar:
            total += _median([_used(agent) for agent in similar])
    return total


def too_expensive(agents: Iterable[Agent], orders: Sequence[StartAgent], free: Limit) -> str:
    """What these agents, with those that work already, would use beyond what is free, in words; empty if they fit.

    A single one is no fan-out: its requests are refused when they do not fit.
    """
    all_agents = tuple(agents)
    ended = [agent for agent in all_agents if agent.is_over and agent.task.runtime.meter.requests]
    working = [agent for agent in all_agents if not agent.is_over]
    if len(working) + len(orders) < 2 or not ended:
        return ""
    needed = forecast(ended, [*orders, *(agent.order for agent in working)])
    for agent in working:
        needed -= _used(agent)
    for measure, left in free.of_measures():
        expected: int = getattr(needed, measure)
        if measure in ("money", "tokens") and expected > left:
            count = len(working) + len(orders)
            return f"{count} agents would use about {in_words(measure, expected)}; {in_words(measure, left)} is free."
    return ""


def _used(agent: Agent) -> Amount:
    meter = agent.task.runtime.meter
    return Amount(
        money=micro_dollars(meter.cost or 0.0),
        tokens=meter.usage.total_in + meter.usage.output_tokens,
        requests=meter.requests,
    )


def _median(used: Sequence[Amount]) -> Amount:
    return Amount(
        money=round(median(each.money for each in used)),
        tokens=round(median(each.tokens for each in used)),
        requests=round(median(each.requests for each in used)),
    )
