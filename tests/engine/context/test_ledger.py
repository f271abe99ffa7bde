"""What fills the window: the same from the running task and from its log, adding up to what the provider counted."""

import math
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from robota.engine.context.ledger import entries_of, ledger_items
from robota.engine.context.recorded_context import recorded_context
from robota.engine.runtime.task_runtime import requests_until
from robota.log.artifacts import read_artifact
from robota.log.chain.reader import load
from robota.log.replay.context import Piece
from robota.log.replay.requests import recorded_requests
from robota.protocol.commands import Accepted, ContextRequest, Refused
from robota.protocol.conversation import ToolResultBlock, Turn, Usage, UserTurn
from robota.protocol.events import ContextUpdate
from robota.protocol.ledger import LedgerKind
from robota.providers.chunks import ToolSpec, UsageChunk
from robota.providers.pricing import Price, cost, costed
from tests.engine.context.context_stage import (
    DONE,
    FILE_READERS,
    NEARLY_FULL,
    SUMMARY,
    WINDOW,
    ContextStage,
    play_in_small_window,
    reading,
    write_files,
)
from tests.engine.stage import call
from tests.log.replay.test_pairing import valid_histories


async def ledger(stage: ContextStage) -> ContextUpdate:
    assert isinstance(await stage.submit(ContextRequest()), Accepted)
    event = await stage.until(lambda event: isinstance(event, ContextUpdate) and bool(event.entries))
    assert isinstance(event, ContextUpdate)
    return event


def from_log(stage: ContextStage) -> ContextUpdate:
    log = stage.opened.log.path
    task = stage.logged().current
    requests = recorded_requests(load(log).records, lambda name: read_artifact(log.parent / "artifacts", name))
    assert task is not None
    return recorded_context(task, requests[-1], FILE_READERS)


def test_each_file_output_and_word_has_its_tokens_and_the_log_tells_the_same(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("Look at the files.")
        await stage.until_ask("completion_result")
        told = await ledger(stage)
        assert sum(entry.tokens for entry in told.entries) == told.used_tokens == 10_050
        by_kind = {entry.kind: entry for entry in told.entries}
        assert by_kind[LedgerKind.SYSTEM].tokens and by_kind[LedgerKind.TOOLS].tokens
        files = [(entry.title, entry.turn) for entry in told.entries if entry.kind is LedgerKind.FILE]
        assert files == [("a.txt", 2), ("b.txt", 4)]
        assert by_kind[LedgerKind.OUTPUT].title == "list_files ." and by_kind[LedgerKind.OUTPUT].call_id
        assert by_kind[LedgerKind.PERSON].title == "Look at the files."
        assert (told.max_tokens, told.condense_at) == (WINDOW, 41_750)
        assert from_log(stage) == msgspec.structs.replace(told, seq=0)

    turns = [
        reading("a.txt", {"input": 4_000, "output": 50, "cost": 0.25}),
        reading("b.txt", {"input": 6_000, "output": 50, "cost": 0.25, "cacheRead": 3_000}),
        {"calls": [call("list_files", path=".")], "usage": {"input": 8_000, "output": 50, "cost": 0.25}},
        {**DONE, "usage": {"input": 10_000, "output": 50, "cost": 0.25}},
    ]
    play_in_small_window(workspace, turns, story)


def test_an_answer_to_a_question_is_titled_with_the_users_words_alone() -> None:
    answer = ToolResultBlock(tool_use_id="call-1", content="<user_message>\nRaise ValueError\n</user_message>")
    [entry] = ledger_items("", (), [Piece(number=1, turn=UserTurn(content=(answer,)))], FILE_READERS)[1:]
    assert (entry.kind, entry.title) == (LedgerKind.PERSON, "Raise ValueError")


def test_a_condensation_is_an_entry_and_starts_the_forecast_anew(workspace: Path) -> None:
    write_files(workspace, "a.txt", "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start("Look at the files.")
        await stage.until_ask("completion_result")
        told = await ledger(stage)
        summary = [entry for entry in told.entries if entry.kind is LedgerKind.CONDENSATION][-1]
        assert summary.title == "summary of turns 0 to 2" and summary.reduction_id
        assert [entry.title for entry in told.entries if entry.kind is LedgerKind.PERSON] == ["Look at the files."]
        assert told.requests_to_condensing is None
        assert from_log(stage).entries == told.entries

    ended = {**DONE, "usage": {"input": 9_000, "output": 10}}
    play_in_small_window(workspace, [reading("a.txt"), reading("b.txt", NEARLY_FULL), SUMMARY, ended], story)


def test_without_a_task_there_is_nothing_in_view(workspace: Path) -> None:
    async def story(stage: ContextStage) -> None:
        refused = await stage.submit(ContextRequest())
        assert isinstance(refused, Refused) and refused.code == "no_active_task"

    play_in_small_window(workspace, [DONE], story)


def test_usual_updates_carry_no_entries_but_the_forecast(workspace: Path) -> None:
    write_files(workspace, "b.txt")

    async def story(stage: ContextStage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        updates = stage.events_of(ContextUpdate)
        assert updates and all(not update.entries for update in updates)
        assert [update.requests_to_condensing for update in updates] == [None, 16, 15]

    usages = [{"input": tokens, "output": 0} for tokens in (8_000, 10_000, 12_000)]
    turns = [reading("b.txt", usages[0]), reading("b.txt", usages[1]), {**DONE, "usage": usages[2]}]
    play_in_small_window(workspace, turns, story)


def test_each_mcp_server_is_an_entry_of_its_own() -> None:
    names = ["read_file", "mcp__github__issues", "mcp__db__query", "mcp__github__search"]
    tools = [ToolSpec(name=name, description="d" * 100, schema={}) for name in names]
    entries = entries_of(ledger_items("s" * 102, tools, [], FILE_READERS), 1_000, 10_000)
    servers = {entry.title: entry.tokens for entry in entries if entry.kind is LedgerKind.MCP_SERVER}
    assert servers.keys() == {"github (2 tools)", "db (1 tool)"}
    assert servers["github (2 tools)"] == 2 * servers["db (1 tool)"] == 400


@given(valid_histories(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_entries_add_up_whatever_was_said(turns: list[Turn], used: int, window: int) -> None:
    pieces = [Piece(number=number, turn=turn) for number, turn in enumerate(turns)]
    entries = entries_of(ledger_items("system", [], pieces, FILE_READERS), used, window)
    assert sum(entry.tokens for entry in entries) == used
    assert all(entry.tokens >= 0 for entry in entries)


@given(st.lists(st.integers(1, 10**6), max_size=10), st.integers(0, 10**6))
def test_the_forecast_is_when_the_limit_would_be_reached(sizes: list[int], limit: int) -> None:
    left = requests_until(limit, sizes)
    if left is not None:
        growth = (sizes[-1] - sizes[0]) / (len(sizes) - 1)
        assert sizes[-1] + left * growth >= limit or math.isclose(sizes[-1] + left * growth, limit)
        assert left == 0 or sizes[-1] + (left - 1) * growth < limit


def test_what_a_cache_saved_is_the_difference_to_plain_input() -> None:
    price = Price(input=3, output=15, cache_read=0.3, cache_write=3.75)
    usage = Usage(input_tokens=1_000, output_tokens=10, cache_read_input_tokens=9_000, cache_creation_input_tokens=100)
    chunk = costed(UsageChunk(usage), price)
    assert isinstance(chunk, UsageChunk) and chunk.saved is not None and chunk.cost is not None
    plain = cost(Usage(input_tokens=10_100, output_tokens=10), price)
    assert plain is not None and math.isclose(chunk.cost + chunk.saved, plain)
