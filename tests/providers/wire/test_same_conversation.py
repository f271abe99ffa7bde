"""Whole sessions through every dialect: the same story gives the same log, and what a vendor sealed comes back."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.log.replay.task import TaskFold
from robota.protocol.conversation import AssistantTurn, ToolResultBlock, ToolUseBlock, Turn, Usage
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import ModelRequest
from robota.providers.wire.anthropic.body import AnthropicBody
from robota.providers.wire.client import BodyEncoder
from robota.providers.wire.gemini.body import GeminiBody
from robota.providers.wire.responses.body import ResponsesBody
from tests.engine.stage import Stage
from tests.fakellm.server import running
from tests.providers.shape_server import ShapeServer, shape_server
from tests.providers.vendors import DIALECTS, profile_of
from tests.providers.wire_shapes import event, shape

STORY = [
    {
        "text": "I look around.",
        "calls": [
            {"name": "list_files", "args": {"path": "."}},
            {"name": "read_file", "args": {"path": "grüße.txt"}},
        ],
    },
    {"calls": [{"name": "no_such_tool", "args": {"x": 1}}]},
    {"fault": 500},
    {"text": "Now I write.", "calls": [{"name": "write_to_file", "args": {"path": "new.txt", "content": "ä 🎉\n"}}]},
    {"fault": "cut"},
    {"calls": [{"name": "attempt_completion", "args": {"result": "Done: 漢字."}}]},
]


async def told(profile: Profile, workspace: Path) -> TaskFold:
    """The task as the log has it, once the story has come to its end."""
    launch = LaunchOptions(cwd=workspace, profile=profile, permission_mode=PermissionMode.BYPASS)
    # The time would tell the conversations apart.
    env = {"ROBOTA_HOME": str(workspace.parent / "robota-home"), "ROBOTA_ENVIRONMENT": "0"}
    opened = open_session(launch, env)
    try:
        stage = Stage(opened)
        await stage.start("Do it.")
        await stage.until_ask("completion_result")
        task = stage.logged().current
    finally:
        await opened.close()
    assert task is not None
    return task


def turns_of(task: TaskFold) -> list[Any]:
    """The turns without what differs by nature: ids and tokens. Calls are named by their place."""
    places = [
        block.id for turn in task.conversation().turns for block in turn.content if isinstance(block, ToolUseBlock)
    ]
    return [msgspec.to_builtins(plain(turn, places)) for turn in task.conversation().turns]


def plain(turn: Turn, places: Sequence[str]) -> Turn:
    content: list[Any] = []
    for block in turn.content:
        if isinstance(block, ToolUseBlock):
            block = msgspec.structs.replace(block, id=str(places.index(block.id)))
        elif isinstance(block, ToolResultBlock):
            block = msgspec.structs.replace(block, tool_use_id=str(places.index(block.tool_use_id)))
        content.append(block)
    if isinstance(turn, AssistantTurn):
        return msgspec.structs.replace(turn, content=tuple(content), id="", usage=Usage())
    return msgspec.structs.replace(turn, content=tuple(content))


def rows_of(task: TaskFold, directory: Path) -> list[tuple[str | None, str]]:
    """What a user saw, without the rows that count tokens, and without where the project lay."""
    rows = [(row.ask or row.say, (row.text or "").replace(str(directory), "")) for row in task.messages]
    return [row for row in rows if row[0] != "api_req_started"]


def play(dialect: str, directory: Path) -> TaskFold:
    workspace = directory / dialect / "project"
    workspace.mkdir(parents=True)
    (workspace / "grüße.txt").write_text("hello\n")
    script = directory / "story.json"
    script.write_text(json.dumps(STORY))
    with running(f"script:{script}", workdir=str(directory / "unused")) as fake:
        profile = profile_of(dialect, fake.url, options={"retry": {"baseMs": 1}})
        task = asyncio.run(told(profile, workspace))
    assert (workspace / "new.txt").read_text() == "ä 🎉\n"
    return task


def test_the_same_conversation_gives_the_same_log_through_every_dialect(tmp_path: Path) -> None:
    tasks = {dialect: play(dialect, tmp_path) for dialect in DIALECTS}
    expected = tasks["compatible"]
    assert [block["name"] for turn in turns_of(expected) for block in turn["content"] if "name" in block] == [
        "list_files",
        "read_file",
        "no_such_tool",
        "write_to_file",
        "attempt_completion",
    ]
    for dialect, task in tasks.items():
        assert turns_of(task) == turns_of(expected), dialect
        assert rows_of(task, tmp_path / dialect) == rows_of(expected, tmp_path / "compatible"), dialect


def completion(dialect: str) -> bytes:
    """A last reply that ends the task."""
    arguments = '{"result": "done"}'
    if dialect == "anthropic":
        block = {"type": "tool_use", "id": "end", "name": "attempt_completion", "input": json.loads(arguments)}
        events: list[Any] = [
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
            {"type": "message_stop"},
        ]
    elif dialect == "responses":
        item = {"type": "function_call", "call_id": "end", "name": "attempt_completion", "arguments": arguments}
        done = {"type": "response.output_item.done", "output_index": 0, "item": item}
        events = [done, {"type": "response.completed", "response": {}}]
    else:
        call = {"functionCall": {"name": "attempt_completion", "args": json.loads(arguments)}}
        events = [{"candidates": [{"content": {"parts": [call]}, "finishReason": "STOP"}]}]
    return b"".join(map(event, events))


SEALED_PARTS: dict[str, tuple[str, list[Any]]] = {
    "anthropic": (
        "anthropic_thinking",
        [
            {
                "type": "thinking",
                "thinking": "First I look around. ",
                "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk=",
            },
            {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIw"},
            {"type": "thinking", "thinking": "Then I list.", "signature": "EqQBCgIYAhIMsecond="},
            {"type": "text", "text": "Listing."},
            {"type": "thinking", "thinking": "Now.", "signature": "EqQBCgIYAhIMthird="},
            {"type": "tool_use", "id": "toolu_01C", "name": "list_files", "input": {"path": "."}},
        ],
    ),
    "responses": (
        "openai_responses_thinking",
        [
            {"type": "reasoning", "id": "rs_01", "summary": [], "encrypted_content": "gAAAAABwhole"},
            {"type": "function_call", "call_id": "call_A", "name": "read_file", "arguments": '{"path":"ä.txt"}'},
            {"type": "function_call", "call_id": "call_B", "name": "list_files", "arguments": '{"path":"."}'},
        ],
    ),
    "gemini": (
        "gemini_thinking",
        [
            {"text": "I read "},
            {"text": "both.", "thoughtSignature": "c2lnbmVkIHRleHQ="},
            {
                "functionCall": {"id": "fc-1", "name": "read_file", "args": {"path": "ä.txt"}},
                "thoughtSignature": "c2lnbmVkIGNhbGw=",
            },
            {"functionCall": {"id": "fc-2", "name": "list_files", "args": {"path": "."}}},
        ],
    ),
}
BODIES: dict[str, type[BodyEncoder]] = {"anthropic": AnthropicBody, "responses": ResponsesBody, "gemini": GeminiBody}


def model_parts(dialect: str, body: dict[str, Any]) -> list[Any]:
    """What a request says that the model said, in the words of its dialect."""
    if dialect == "responses":
        return [item for item in body["input"] if item.get("type") in ("reasoning", "function_call")]
    rows = body["messages"] if dialect == "anthropic" else body["contents"]
    role, key = ("assistant", "content") if dialect == "anthropic" else ("model", "parts")
    return [part for row in rows if row["role"] == role for part in row[key]]


@pytest.mark.parametrize("dialect", list(SEALED_PARTS))
def test_thoughts_come_back_as_they_were_sealed_and_survive_the_log(dialect: str, tmp_path: Path) -> None:
    name, expected = SEALED_PARTS[dialect]
    workspace = tmp_path / "project"
    workspace.mkdir()

    async def run() -> tuple[ShapeServer, TaskFold]:
        async with shape_server(shape(name), completion(dialect)) as server:
            return server, await told(profile_of(dialect, server.url), workspace)

    server, task = asyncio.run(run())
    assert model_parts(dialect, server.bodies[1]) == expected
    # And from the log alone, as after a restart: the turns up to the results are the same request again.
    asked = ModelRequest(model="fake-model", system="", turns=tuple(task.conversation().turns[:3]))
    assert model_parts(dialect, json.loads(BODIES[dialect]().encode(asked))) == expected


@pytest.mark.parametrize("other", list(SEALED_PARTS))
@pytest.mark.parametrize("dialect", list(SEALED_PARTS))
def test_no_vendor_is_sent_the_seals_of_another(dialect: str, other: str, tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()

    async def run() -> TaskFold:
        async with shape_server(shape(SEALED_PARTS[dialect][0]), completion(dialect)) as server:
            return await told(profile_of(dialect, server.url), workspace)

    turns = tuple(asyncio.run(run()).conversation().turns)
    body = BODIES[other]().encode(ModelRequest(model="fake-model", system="", turns=turns))
    seals = [b"thoughtSignature", b"encrypted_content", b'"signature"']
    own = {"anthropic": b'"signature"', "responses": b"encrypted_content", "gemini": b"thoughtSignature"}
    assert {seal for seal in seals if seal in body} == ({own[dialect]} if other == dialect else set())
