"""What a run costs, where that is known and where it is not, and the budget that depends on it."""

import asyncio
import json
from typing import Any

import pytest

from tests.cli.scripts import script, write_settings
from tests.fakellm.server import running
from tests.harness.cli import Finished, Robota
from tests.harness.terminal import Terminal
from tests.providers.faulty import call, event, in_turn, sending
from tests.providers.raw_server import STREAM_HEAD, raw_server

PRICE = {"input": 1, "output": 2}
READ = call("list_files", '{"path": "."}', id="c1") + event({}, "tool_calls") + b"data: [DONE]\n\n"


def unpriced(robota: Robota, url: str, **settings: Any) -> None:
    profile = {"type": "openai-compatible", "baseURL": url, "model": "new-thing"}
    write_settings(robota, {"currentProvider": "x", "providers": {"x": profile}, **settings})


def test_an_unknown_cost_is_null_and_never_nothing(robota: Robota) -> None:
    """A price that is not known is not shown as 0."""
    with running() as server:
        unpriced(robota, server.url)
        result = json.loads(robota("-p", "go", "--output-format", "json").stdout)
        assert result["subtype"] == "success" and result["total_cost_usd"] is None
        assert result["modelUsage"]["new-thing"]["costUSD"] is None
        with Terminal(robota, "go") as terminal:
            terminal.wait_for(" out")
            assert "$" not in terminal.screen
            assert terminal.hang_up() == 0


@pytest.mark.parametrize("fallback", [False, True])
def test_a_budget_that_cannot_be_kept_is_refused_before_anything_is_sent(robota: Robota, fallback: bool) -> None:
    """Without a price, a budget would limit nothing."""
    with running() as server:
        unpriced(robota, server.url, models={"new-thing": {"price": PRICE}} if fallback else {})
        more = ("--fallback-model", "another-thing") if fallback else ()
        done = robota("-p", "go", "--max-budget-usd", "1", *more)
        assert done.code == 3 and "a limit in dollars cannot be kept" in done.stderr
        assert f"robota config set 'models.{'another' if fallback else 'new'}-thing.price'" in done.stderr
        assert not server.records and not (robota.workspace / ".robota").exists()


def test_a_price_in_the_settings_makes_the_budget_count(robota: Robota) -> None:
    """The setting that the refusal proposes works."""
    with running() as server:
        unpriced(robota, server.url)
        assert robota("config", "set", "models.new-thing.price", json.dumps(PRICE)).code == 0
        result = json.loads(robota("-p", "go", "--output-format", "json", "--max-budget-usd", "1").stdout)
        assert result["subtype"] == "success" and result["total_cost_usd"] > 0


def test_a_server_that_counts_no_tokens_is_charged_what_was_held(robota: Robota) -> None:
    """What nobody counted is not free: the run ends when the most that it can have cost is used up."""

    async def run() -> tuple[Finished, int]:
        async with raw_server(in_turn(then=sending(STREAM_HEAD + READ))) as server:
            unpriced(robota, f"{server.url}/v1", models={"new-thing": {"price": PRICE}})
            arguments = ("-p", "go", "--output-format", "json", "--max-budget-usd", "0.1")
            return await asyncio.to_thread(robota, *arguments), len(server.requests)

    done, requests = asyncio.run(run())
    result = json.loads(done.stdout)
    assert (done.code, result["subtype"]) == (55, "error_max_budget_usd")
    assert requests > 1 and "The budget of the session is used up" in result["errors"][0]


def test_what_is_free_costs_nothing(robota: Robota) -> None:
    """The scripted model has no price and needs none."""
    script(robota, {"text": "ok"})
    result = json.loads(robota("-p", "go", "--output-format", "json", "--max-budget-usd", "1").stdout)
    assert (result["subtype"], result["total_cost_usd"]) == ("success", 0.0)
