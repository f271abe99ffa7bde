"""Requests of MCP servers to the client: elicitation, roots, sampling; and cancellation of calls."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.extensions.mcp.elicitation import DECLINE, request_values
from robota.protocol.asks.ask import ElicitationAsk
from robota.protocol.asks.seed import question_in
from robota.protocol.commands import CancelTask, QueueMessage
from tests.cli.scripts import call, sessions
from tests.engine.stage import Stage, tool_results
from tests.extensions.mcp.setup import DONE, first_result, play_story, play_with, run_with, sdk_entry
from tests.harness.cli import Robota
from tests.harness.session_log import log_text

ORDER = [{"calls": [call("mcp__sdk__order")]}, DONE]


@pytest.mark.parametrize("version", ["new", "old"])
def test_elicitation_asks_for_one_value_at_a_time(workspace: Path, version: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        dish = await stage.until_ask("followup")
        assert isinstance(dish.asked, ElicitationAsk) and dish.asked.server == "sdk" and dish.asked.field == "dish"
        assert "The MCP server sdk asks: What shall I cook?" in question_in(dish.text or "").question
        await stage.submit(QueueMessage(text="words for the model"))
        await stage.answer("messageResponse", "soup", dish.ts)
        portions = await stage.until_ask("followup")
        await stage.answer("messageResponse", "many", portions.ts)
        again = await stage.until_ask("followup")
        assert "is not a number" in (again.text or "") and isinstance(again.asked, ElicitationAsk)
        assert again.asked.suggestions == ()  # 1 is a number of portions, not the first of some words
        await stage.answer("messageResponse", "1", again.ts)
        spicy = await stage.until_ask("followup")
        assert isinstance(spicy.asked, ElicitationAsk)
        assert [each.answer for each in spicy.asked.suggestions] == ["no", "yes", "leave it out", DECLINE]
        await stage.answer("messageResponse", "yes", spicy.ts)
        await stage.until(lambda event: bool(stage.says("user_feedback")))
        assert "accept: dish='soup' portions=1 spicy=True" in first_result(stage)

    play_story(workspace, {"sdk": sdk_entry(version)}, [*ORDER, DONE], story, mode="bypassPermissions")


def test_a_declined_elicitation_is_reported_to_server_and_model(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        asked = await stage.until_ask("followup")
        await stage.answer("noButtonClicked", None, asked.ts)
        await stage.until_ask("completion_result")
        assert "decline: nothing" in first_result(stage) and "did not answer what the server asked" in first_result(
            stage
        )

    play_story(workspace, {"sdk": sdk_entry()}, ORDER, story, mode="bypassPermissions")


def test_an_unattended_elicitation_is_declined_with_a_notice(robota: Robota) -> None:
    done = run_with(robota, {"sdk": sdk_entry()}, ORDER, "--allowed-tools", "mcp__sdk")
    assert done.code == 0
    log = log_text(sessions(robota)[-1])
    assert "Declined, or no user was present to answer: The MCP server sdk asks: What shall I cook?" in log
    assert "decline: nothing" in log


@pytest.mark.parametrize("version", ["new", "old"])
def test_sampling_is_not_offered_to_servers(workspace: Path, version: str) -> None:
    def check(stage: Stage) -> None:
        assert "sampling" in first_result(stage).lower() and tool_results(stage)[0].is_error

    play_with(workspace, {"sdk": sdk_entry(version)}, [{"calls": [call("mcp__sdk__sample")]}, DONE], check)


@pytest.mark.parametrize("version", ["new", "old"])
def test_the_workspace_is_the_root_of_a_server(workspace: Path, version: str) -> None:
    def check(stage: Stage) -> None:
        assert f"roots: ['{workspace.as_uri()}']" in first_result(stage)

    play_with(workspace, {"sdk": sdk_entry(version)}, [{"calls": [call("mcp__sdk__roots")]}, DONE], check)


def test_cancelling_a_call_cancels_it_at_the_server(workspace: Path, tmp_path: Path) -> None:
    stopped = tmp_path / "stopped"
    os.mkfifo(stopped)

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until(lambda event: any("1/2 working" in text for text in stage.says("command_output")))
        await stage.submit(CancelTask())
        await stage.until_ask("resume_task")
        async with asyncio.timeout(100):  # only a test that fails waits that long
            await asyncio.to_thread(stopped.read_text)  # of a pipe, so that it waits for the server

    turns = [{"calls": [call("mcp__sdk__endless", marks=str(tmp_path))]}, DONE]
    play_story(workspace, {"sdk": sdk_entry()}, turns, story, mode="bypassPermissions")


ANY_SCHEMA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["properties", "type", "enum", "oneOf", "const", "items", "default", "required", "x"]),
            inner | st.sampled_from(["string", "number", "integer", "boolean", "array"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("silence", ["", " ", "\n", "\t "])
def test_an_empty_answer_accepts_nothing(silence: str) -> None:
    """Neither a confirmation, nor as a value: somebody only pressed Enter."""
    asked: list[ElicitationAsk] = []

    async def ask(question: ElicitationAsk) -> str | None:
        asked.append(question)
        return silence

    assert asyncio.run(request_values("s", "Delete everything?", {}, ask)) is None
    for kind in ("string", "boolean", "integer", "array"):
        for required in ([], ["x"]):
            schema = {"properties": {"x": {"type": kind, "default": "yes"}}, "required": required}
            assert asyncio.run(request_values("s", "What?", schema, ask)) is None
    assert "Type an answer" in asked[-1].question


@given(st.dictionaries(st.just("properties") | st.text(max_size=4), ANY_SCHEMA, max_size=3), st.text(max_size=6))
def test_no_requested_schema_makes_elicitation_fail(schema: dict[str, Any], words: str) -> None:
    async def ask(asked: ElicitationAsk) -> str | None:
        return words

    values = asyncio.run(request_values("s", "m", schema, ask))
    assert values is None or isinstance(values, dict)
