"""Agents and processes in print mode: whose line is whose, and what is told about them."""

import json
from typing import Any

from tests.cli.scripts import call, script
from tests.harness.cli import Finished, Robota

TWO: list[Any] = [
    {"calls": [call("agent", description="look", prompt="part a"), call("agent", description="see", prompt="part b")]},
    {"task": "part a", "text": "A is done.", "chunkSize": 2, "chunkDelayMs": 2},
    {"task": "part b", "text": "B is done.", "chunkSize": 2, "chunkDelayMs": 2},
    {"text": "Both are done."},
]


def all_lines(ran: Finished) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.stdout.splitlines()]


def lines(ran: Finished, kind: str, subtype: str | None = None) -> list[dict[str, Any]]:
    return [line for line in all_lines(ran) if line["type"] == kind and line.get("subtype") == subtype]


def texts(line: dict[str, Any]) -> str:
    return "".join(block.get("text", "") for block in line["message"]["content"])


def test_the_lines_of_an_agent_name_the_call_that_started_it(robota: Robota) -> None:
    script(robota, *TWO)
    ran = robota("-p", "go", "--output-format", "stream-json")
    replies = {texts(line): line["parent_tool_use_id"] for line in lines(ran, "assistant") if texts(line)}
    started = {line["description"]: line["tool_use_id"] for line in lines(ran, "system", "task_started")}
    assert replies["Both are done."] is None and None not in started.values()
    assert replies["A is done."] == started["general-purpose: look"]
    assert replies["B is done."] == started["general-purpose: see"]
    assert len(lines(ran, "system", "task_notification")) == 2


def test_replies_that_are_streamed_side_by_side_do_not_mix(robota: Robota) -> None:
    script(robota, *TWO)
    ran = robota("-p", "go", "--output-format", "stream-json", "--include-partial-messages")
    streamed: dict[str | None, str] = {}
    for line in lines(ran, "stream_event"):
        delta = line["event"].get("delta", {})
        caller = line["parent_tool_use_id"]
        streamed[caller] = streamed.get(caller, "") + delta.get("text", "")
    assert sorted(streamed.values()) == ["A is done.", "B is done.", "Both are done."]


def test_background_work_is_told_in_the_events_of_robota_too(robota: Robota) -> None:
    background = call("agent", description="look", prompt="part a", run_in_background=True)
    script(robota, {"calls": [background]}, {"text": "Wait."}, TWO[1], {"text": "Over."})
    ran = robota("-p", "go", "--output-format", "stream-json", "--include-partial-messages")
    events = [
        line["event"]["background_task_event"]
        for line in lines(ran, "stream_event")
        if line["event"]["type"] == "background_task_event"
    ]
    kinds = [event["type"].removeprefix("background_task_") for event in events]
    assert kinds[:2] == ["created", "started"] and "completed" in kinds
    ended = events[kinds.index("completed")]["task"]
    assert ended["isUnread"] and ended["preview"] == "A is done." and ended["logPath"].endswith("agent_1/log.jsonl")


def test_a_group_is_told_when_it_is_created_and_complete(robota: Robota) -> None:
    script(robota, *TWO[1:3])
    line = '/agent parallel a:"part a" b:"part b"'
    ran = robota("-p", line, "--output-format", "stream-json")
    events = [line["event"]["background_job_group_event"] for line in lines(ran, "stream_event")]
    assert [event["type"].removeprefix("background_job_group_") for event in events] == [
        "created",
        "updated",
        "completed",
    ]
    assert events[-1]["summary"].startswith("group_1: 2 completed") and "A is done." in all_lines(ran)[-1]["result"]


def test_messages_are_only_those_of_the_task(robota: Robota) -> None:
    script(robota, *TWO)
    ran = robota("-p", "go", "--output-format", "messages")
    said = [line.get("text") for line in all_lines(ran) if line.get("say") == "text"]
    assert said == ["go", "Both are done."]
