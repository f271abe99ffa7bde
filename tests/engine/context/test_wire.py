"""Condensing over real HTTP, in every dialect: the server counts the tokens and writes the summary."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.engine.context.context_stage import words
from tests.fakellm.server import running
from tests.log.replay.test_pairing import check_valid
from tests.providers.vendors import DIALECTS, profile_of
from tests.providers.wire.test_same_conversation import told

FILES = [f"file{number}.txt" for number in range(6)]
# What the server says to a request without tools.
SUMMARY = "A title"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_task_is_condensed_by_the_servers_own_count(tmp_path: Path, dialect: str) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    for name in FILES:
        (workspace / name).write_text(f"{name} {'.' * 90}\n" * 200)
    script = tmp_path / "story.json"
    script.write_text(json.dumps([{"calls": [{"name": "read_file", "args": {"path": name}}]} for name in FILES]))
    with running(f"script:{script}", workdir=str(tmp_path / "unused")) as fake:
        options = {"contextWindow": 34_000, "maxOutputTokens": 4_000, "retry": {"baseMs": 1}}
        task = asyncio.run(told(profile_of(dialect, fake.url, options=options), workspace))
        without_tools = [record for record in fake.records if record.get("kind") == "side"]
    assert 1 <= len(without_tools) == len([row for row in task.messages if row.say == "condense_context"]) <= 4
    history = task.conversation().turns
    check_valid(history)
    assert "Do it." in words(history[:1]) and SUMMARY in words(history[:1])
    assert task.context.recorded == 2 * (len(FILES) + 1)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_413_makes_the_conversation_shorter_and_the_task_goes_on(tmp_path: Path, dialect: str) -> None:
    """A proxy that finds a request too large says 413 and no more."""
    workspace = tmp_path / "project"
    workspace.mkdir()
    (workspace / "file.txt").write_text(f"{'.' * 90}\n" * 200)
    script = tmp_path / "story.json"
    read = {"calls": [{"name": "read_file", "args": {"path": "file.txt"}}]}
    script.write_text(json.dumps([read, read, read, {"fault": "413"}]))
    with running(f"script:{script}", workdir=str(tmp_path / "unused")) as fake:
        options = {"contextWindow": 200_000, "maxOutputTokens": 4_000, "retry": {"baseMs": 1}}
        task = asyncio.run(told(profile_of(dialect, fake.url, options=options), workspace))
        sizes = {record["status"]: record["body_bytes"] for record in fake.records if record.get("kind") == "main"}
        refused = [record["body_bytes"] for record in fake.records if record.get("status") == 413]
    assert len(refused) == 1 and sizes[200] < refused[0]
    assert task.messages[-1].ask == "completion_result"
