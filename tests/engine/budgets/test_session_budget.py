"""The budget of a session: what is held before a request, what is charged after it, and what the log remembers."""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from robota.log.kinds.session import BudgetRecord
from robota.protocol.asks.ask import QuestionAsk
from robota.protocol.asks.seed import ask_of
from robota.protocol.calls import BackgroundStatus
from robota.protocol.commands import Accepted, RewindTo
from robota.protocol.conversation import BudgetAccount
from robota.protocol.events import BackgroundTasks, Notice, TaskTokenUsageUpdated
from robota.providers.chunks import Chunk, ModelRequest
from tests.engine.stage import Stage, call, play, tool_results

PRICES = {"models": {"scripted": {"price": {"input": 1, "output": 2}}}}
LIST = call("list_files", path=".")


def used(tokens_in: int, tokens_out: int, **fields: Any) -> dict[str, Any]:
    return {"usage": {"input": tokens_in, "output": tokens_out}, **fields}


def steps(count: int, tokens_in: int, tokens_out: int) -> list[dict[str, Any]]:
    """Replies that make progress."""
    return [used(tokens_in, tokens_out, calls=[call("glob", pattern=f"*.{n}")]) for n in range(count)]


def budgets(stage: Stage) -> list[BudgetAccount]:
    return [each for event in stage.events_of(TaskTokenUsageUpdated) for each in event.token_usage.budget]


def records(stage: Stage) -> list[BudgetRecord]:
    lines = stage.opened.log.path.read_bytes().splitlines()
    each = (json.loads(line) for line in lines)
    return [
        BudgetRecord.from_json(json.dumps(record["payload"]).encode()) for record in each if record["kind"] == "budget"
    ]


def test_each_request_is_held_and_settled_with_what_was_reported(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        changes = records(stage)
        assert [each.change for each in changes] == ["hold", "settled", "hold", "settled"]
        held, settled = changes[:2]
        assert settled.amount["money"] == 1_000 + 2 * 100 and settled.amount["tokens"] == 1_100
        assert held.amount["money"] > settled.amount["money"] and held.open == {held.id: held.amount}
        assert changes[-1].open == {} and changes[-1].spent["requests"] == 2
        last = budgets(stage)[-1]
        assert (last.name, last.limit, last.spent) == ("session", {"money": 1_000_000}, {"money": 2_400})
        assert last.free == {"money": 997_600} and last.held == last.estimated == {"money": 0}

    turns = [used(1_000, 100, calls=[LIST]), used(1_000, 100, text="done")]
    play(workspace, turns, story, profile_options=PRICES, max_cost=1.0)


def test_without_a_limit_nothing_is_recorded(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert records(stage) == [] and budgets(stage) == []

    play(workspace, [used(1, 1, text="done")], story, profile_options=PRICES)


@pytest.mark.parametrize(
    "usage",
    [None, {"input": -5, "output": 3}, {"input": 10**12, "output": 1}, {"input": 10, "output": 1, "cost": -1.0}],
    ids=["none", "negative", "huge", "negative cost"],
)
def test_usage_that_is_missing_or_impossible_is_charged_as_estimated(workspace: Path, usage: Any) -> None:
    """It can neither make a request free nor give anything back."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        held, charged = records(stage)[:2]
        assert charged.change == "estimated" and charged.estimated == charged.spent
        assert charged.amount["money"] == held.amount["money"] > 0
        totals = stage.session.usage()
        assert totals.estimated_requests == 1 and totals.total_tokens_in > 0
        assert totals.total_cost == charged.amount["money"] / 1_000_000

    turn = {"text": "done"} if usage is None else {"text": "done", "usage": usage}
    play(workspace, [turn], story, profile_options=PRICES, max_cost=1.0)


def test_the_output_that_is_asked_for_is_what_was_held(workspace: Path) -> None:
    """A small rest shortens the answer, instead of being exceeded by it."""
    limits: list[int | None] = []

    async def story(stage: Stage) -> None:
        provider = stage.opened.services.model.provider
        stream = provider.stream

        def noted(request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
            limits.append(request.max_output_tokens)
            return stream(request)

        vars(provider)["stream"] = noted
        await stage.start()
        await stage.until_ask("auto_approval_max_req_reached")
        assert limits[0] == 8_192 and limits[-1] is not None and 2_048 <= limits[-1] < 8_192

    play(workspace, steps(20, 10_000, 1_000), story, profile_options=PRICES, max_tokens_total=60_000)


def test_at_80_percent_the_user_and_the_model_are_told_once(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        warned = [event.text for event in stage.events_of(Notice) if "nearly used up" in event.text]
        assert len(warned) == 1 and "of 100,000 tokens" in warned[0]

    turns = [*steps(8, 10_000, 0), used(10, 10, expect={"user": "nearly used up"}, text="done")]
    play(workspace, turns, story, profile_options=PRICES, max_tokens_total=100_000)


def test_a_rewind_gives_nothing_back(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        before = records(stage)[-1]
        assert isinstance(await stage.submit(RewindTo(number=1)), Accepted)
        await stage.start("again")
        await stage.until_ask("completion_result")
        assert records(stage)[-1].spent["money"] == 2 * before.spent["money"] == 2_400
        assert stage.logged().newest.get(BudgetRecord) == records(stage)[-1]

    turns = [used(1_000, 100, text="done"), used(1_000, 100, text="done again")]
    play(workspace, turns, story, profile_options=PRICES, max_cost=1.0)


AGENT_TASK = "count the files"


def agent(number: int = 0, **fields: Any) -> dict[str, Any]:
    return call("agent", description="count", prompt=f"{AGENT_TASK} {number}", **fields)


def test_an_agent_has_its_own_budget_and_ends_with_a_reason_for_who_started_it(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        (result,) = tool_results(stage)
        assert "The budget of agent agent_1 is used up" in result.content and "failed" in result.content
        listed = [task for event in stage.events_of(BackgroundTasks) for task in event.tasks]
        assert listed[-1].status is BackgroundStatus.FAILED or listed[-1].left is not None

    turns = [
        {"calls": [agent(budget=0.03)]},
        {"task": AGENT_TASK, **used(20_000, 1_000, calls=[LIST])},
        {"text": "done"},
    ]
    play(workspace, turns, story, profile_options=PRICES, permission_mode="bypassPermissions")


@pytest.mark.parametrize(("budget", "reason"), [(0, "With a budget of 0"), (5.0, "Only $0.")])
def test_an_agent_that_cannot_have_its_budget_is_not_started(workspace: Path, budget: float, reason: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        (result,) = tool_results(stage)
        assert result.is_error and reason in result.content and "Nothing was started" in result.content

    turns = [used(100, 10, calls=[agent(budget=budget)]), used(100, 10, text="done")]
    play(workspace, turns, story, profile_options=PRICES, permission_mode="bypassPermissions", max_cost=0.5)


@pytest.mark.parametrize(("answer", "started"), [("Start them all the same", 3), ("Do not start more of them", 2)])
def test_a_fan_out_that_would_not_fit_is_asked_about_once(workspace: Path, answer: str, started: int) -> None:
    """One agent has ended and cost $0.02; three more at once would cost $0.06, and less than that is free."""

    async def story(stage: Stage) -> None:
        await stage.start()
        ask = ask_of(await stage.until_ask("followup"))
        assert isinstance(ask, QuestionAsk) and "agents would use about $0.0" in ask.question
        await stage.answer("messageResponse", answer)
        await stage.until_ask("completion_result")
        refused = [result for result in tool_results(stage) if result.is_error and "was not started" in result.content]
        assert len(refused) == 3 - started

    turns = [
        used(10, 1, calls=[agent()]),
        {"task": AGENT_TASK, **used(18_000, 1_000, text="seven")},
        *({"task": AGENT_TASK, **used(1_000, 10, text="seven")} for _ in range(3)),
        used(10, 1, calls=[agent(1), agent(2), agent(3)]),
        used(10, 1, text="done"),
    ]
    play(workspace, turns, story, profile_options=PRICES, permission_mode="bypassPermissions", max_cost=0.065)
