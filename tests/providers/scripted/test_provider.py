"""The scripted model: what it says, how it streams, and how loudly it fails."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from robota.config.profiles.profile import Profile
from robota.protocol.conversation import Usage
from robota.providers.chunks import Chunk, FinishChunk, Provider, ThinkingChunk, UsageChunk
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.registry import create, definition
from tests.providers.conversing import calling, calls_of, finish_of, request, result, text_of, user, whole_reply


def scripted(*turns: Any) -> Provider:
    return create(Profile(type="scripted", options={"turns": list(turns)}), {})


def play(model: Provider, *asked: Any) -> list[Chunk]:
    return asyncio.run(whole_reply(model, request(*asked)))


def fault_of(model: Provider, *asked: Any) -> ProviderFault:
    with pytest.raises(ProviderFault) as caught:
        play(model, *asked)
    return caught.value


def test_everything_a_turn_can_hold() -> None:
    model = scripted(
        {
            "reasoning": "Let me think about it.",
            "text": "I will read the file now.",
            "calls": [
                {"name": "read_file", "arguments": {"path": "a.txt"}},
                {"id": "own", "name": "broken", "arguments": '{"path": '},
            ],
            "usage": {"input": 10, "output": 5, "cacheRead": 3, "cacheWrite": 2, "cost": 0.01},
        }
    )
    chunks = play(model)
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)) == "Let me think about it."
    assert text_of(chunks) == "I will read the file now."
    assert calls_of(chunks) == [("call_1_1", "read_file", '{"path":"a.txt"}'), ("own", "broken", '{"path": ')]
    usage = Usage(input_tokens=10, output_tokens=5, cache_read_input_tokens=3, cache_creation_input_tokens=2)
    assert UsageChunk(usage, 0.01) in chunks
    assert finish_of(chunks) == "tool_use"


def test_it_streams_in_several_batches_and_lets_others_run() -> None:
    async def run() -> tuple[int, int]:
        model, others, batches = scripted({"text": "x" * 400, "chunkSize": 5}), 0, 0

        async def other() -> None:
            nonlocal others
            while True:
                others += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        async for _ in model.stream(request()):
            batches += 1
        task.cancel()
        return batches, others

    batches, others = asyncio.run(run())
    assert batches == 21
    assert others >= batches


def test_turns_come_in_order_and_then_it_says_that_the_script_has_ended() -> None:
    model = scripted({"text": "one"}, {"text": "two", "finish": "max_tokens"})
    assert text_of(play(model)) == "one"
    assert finish_of(play(model)) == "max_tokens"
    fault = fault_of(model)
    assert fault.kind is FaultKind.SCRIPT
    assert not fault.retryable
    assert "holds 2 turns and request 3 came" in fault.message


def test_a_repeated_turn_counts() -> None:
    model = scripted({"repeat": 3, "text": "round {n}", "calls": [{"name": "x", "arguments": {"path": "f{n}.txt"}}]})
    replies = [play(model) for _ in range(3)]
    assert [text_of(reply) for reply in replies] == ["round 1", "round 2", "round 3"]
    assert calls_of(replies[2]) == [("call_3_1", "x", '{"path":"f3.txt"}')]
    assert fault_of(model).kind is FaultKind.SCRIPT


def test_braces_are_kept_where_nothing_repeats() -> None:
    assert text_of(play(scripted({"text": "{n}"}))) == "{n}"


@pytest.mark.parametrize(
    "expect",
    [
        {"user": "fix"},
        {"user": "/^please .* bug$/"},
        {"result": "2 failed"},
        {"error": True},
        {"tools": ["read_file"]},
        {"turns": 3},
    ],
)
def test_a_request_that_is_as_expected(expect: dict[str, Any]) -> None:
    turns = (user("please fix the bug"), calling("x", {}), result("2 failed", is_error=True))
    assert text_of(play(scripted({"expect": expect, "text": "ok"}), *turns)) == "ok"


@pytest.mark.parametrize(
    ("expect", "shown"),
    [
        ({"user": "feature"}, ["'feature'", "please fix the bug"]),
        ({"user": "/^fix/"}, ["/^fix/", "please fix the bug"]),
        ({"user": "/(/"}, ["not a regular expression"]),
        ({"result": "passed"}, ["'passed'", "2 failed"]),
        ({"error": False}, ["'false'", "2 failed"]),
        ({"tools": ["write_to_file"]}, ["write_to_file", "read_file"]),
        ({"turns": 9}, ["'9'", "'3'"]),
    ],
)
def test_a_request_that_is_not_as_expected_fails_with_both_sides(expect: dict[str, Any], shown: list[str]) -> None:
    turns = (user("please fix the bug"), calling("x", {}), result("2 failed", is_error=True))
    fault = fault_of(scripted({"expect": expect, "text": "ok"}), *turns)
    assert fault.kind is FaultKind.SCRIPT
    assert all(words in fault.message for words in shown)


@pytest.mark.parametrize("kind", list(FaultKind))
def test_every_kind_of_fault_can_be_played_and_the_next_turn_follows(kind: FaultKind) -> None:
    fault = {"kind": kind.value, "status": 418, "message": "as told", "retryAfter": 2.5}
    model = scripted({"text": "never", "fault": fault}, {"text": "then"})
    played = fault_of(model)
    assert (played.kind, played.status, played.message, played.retry_after_s) == (kind, 418, "as told", 2.5)
    assert text_of(play(model)) == "then"


@pytest.mark.parametrize(("kind", "after"), [("cut", 0), ("cut", 3), ("eof", 3), ("cut", 1000)])
def test_a_stream_that_breaks_gives_what_came_before_and_never_a_finish(kind: str, after: int) -> None:
    async def run() -> list[Chunk]:
        seen: list[Chunk] = []
        model = scripted({"text": "abcdefghij", "chunkSize": 1, "fault": {"kind": kind, "after": after}})
        with pytest.raises(ProviderFault) as caught:
            async for batch in model.stream(request()):
                seen.extend(batch)
        assert caught.value.kind is FaultKind.STREAM_CUT
        return seen

    seen = asyncio.run(run())
    assert text_of(seen) == "abcdefghij"[:after]
    assert not any(isinstance(chunk, FinishChunk) for chunk in seen)


def test_an_empty_reply_is_complete_and_holds_nothing() -> None:
    chunks = play(scripted({"text": "x", "fault": {"kind": "empty"}}))
    assert chunks == [UsageChunk(Usage(), 0.0), FinishChunk("end_turn")]


@pytest.mark.parametrize("name", ["script.json", "script.yaml", "script.yml"])
def test_scripts_in_files(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).write_text(json.dumps({"turns": [{"text": "from a file"}]}))
    monkeypatch.chdir(tmp_path)
    for script in (name, str(tmp_path / name)):
        model = create(Profile(type="scripted", options={"script": script}), {})
        assert text_of(play(model)) == "from a file"


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("missing.json", None, ["missing.json", "options.script"]),
        ("a.json", "[\n{\n]", ["a.json", "line 3"]),
        ("a.yaml", "- text: [\n  oops: {", ["a.yaml", "line"]),
        ("a.json", '[{}, {"txt": "x"}]', ["turn 2", "txt"]),
        ("a.json", '[{"calls": [{"arguments": {}}]}]', ["turn 1", "name"]),
        ("a.json", '[{"fault": {"kind": "flood"}}]', ["flood", "rate_limit"]),
        ("a.json", '[{"chunkSize": 0}]', ["chunkSize"]),
        ("a.json", '[{"repeat": -1}]', ["repeat"]),
        ("a.json", '{"steps": []}', ["turns"]),
        ("a.json", "7", ["list of turns"]),
    ],
)
def test_a_script_that_is_wrong_says_where(tmp_path: Path, name: str, text: str | None, shown: list[str]) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    fault = fault_of(create(Profile(type="scripted", options={"script": str(path)}), {}))
    assert fault.kind is FaultKind.SCRIPT
    assert all(words in fault.message for words in shown), fault.message


def test_no_script_at_all() -> None:
    assert "options.script" in fault_of(create(Profile(type="scripted"), {})).message


def test_the_model_can_be_given_other_abilities() -> None:
    profile = Profile(type="scripted", options={"modelInfo": {"nativeTools": False, "contextWindow": 1000}})
    info = definition("scripted").model_info(profile)
    assert (info.native_tools, info.context_window) == (False, 1000)


def test_otherwise_answers_what_the_script_does_not_expect_and_the_script_waits() -> None:
    turns = [{"expect": {"user": "start"}, "text": "one"}, {"text": "two"}]
    options = {"turns": turns, "otherwise": {"text": "not in the script"}}
    model = create(Profile(type="scripted", options=options), {})
    asked = [text_of(play(model, user(words))) for words in ("hello", "start", "on", "more", "and more")]
    assert asked == ["not in the script", "one", "two", "not in the script", "not in the script"]
