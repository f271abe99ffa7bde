"""From the log alone one can tell the exact system prompt and tools of every request."""

from pathlib import Path

import msgspec

from robota.log.artifacts import ARTIFACTS_NAME, read_artifact
from robota.log.chain.reader import LOG_NAME, Loaded, load
from robota.log.chain.writer import INLINE_TEXT_BYTES, SessionLog
from robota.log.kinds.conversation import MessageRecord
from robota.log.kinds.requests import RequestRecord
from robota.log.replay.requests import RecordedRequest, recorded_requests
from robota.protocol.message import Message
from tests.cli.scripts import call, script
from tests.harness.cli import Robota

TOOLS = [{"name": "read_file", "description": "Reads.", "schema": {"type": "object"}}]


def begin_request(log: SessionLog, model: str, system: str, tools: list[object]) -> None:
    parts = {"system": log.keep_text(system), "tools": log.keep_text(msgspec.json.encode(tools).decode())}
    log.append(RequestRecord(task_id="t", model=model, system=parts["system"], tools=parts["tools"]))
    say_request(log)


def say_request(log: SessionLog) -> None:
    row = Message(ts=log.next_ts(), type="say", say="api_req_started", text="{}")
    log.append(MessageRecord(task_id="t", message=row))


def requests_in(directory: Path) -> list[RecordedRequest]:
    records = load(directory / LOG_NAME).records
    return recorded_requests(records, lambda name: read_artifact(directory / ARTIFACTS_NAME, name))


def count(loaded: Loaded, kind: str) -> int:
    return sum(record.kind == kind for record in loaded.records)


def test_every_request_has_what_was_in_force_when_it_was_made(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path / "s", lambda: 1)
    begin_request(log, "m1", "Be brief.", [*TOOLS])
    say_request(log)
    begin_request(log, "m2", "Be brief.", [])
    log.close()
    found = [(request.model, request.system, request.tools) for request in requests_in(tmp_path / "s")]
    assert found == [("m1", "Be brief.", TOOLS), ("m1", "Be brief.", TOOLS), ("m2", "Be brief.", [])]


def test_a_text_is_stored_once_also_after_the_log_was_opened_again(tmp_path: Path) -> None:
    log = SessionLog.create(tmp_path / "s", lambda: 1)
    begin_request(log, "m", "Be brief.", [*TOOLS])
    log.close()
    log, _ = SessionLog.open(tmp_path / "s", lambda: 1)
    begin_request(log, "m", "Be brief.", [*TOOLS])
    log.close()
    assert count(load(tmp_path / "s" / LOG_NAME), "content") == 2
    first, second = requests_in(tmp_path / "s")
    assert (first.system, first.tools) == (second.system, second.tools)


def test_a_large_text_lies_beside_the_log(tmp_path: Path) -> None:
    long = "rule " * INLINE_TEXT_BYTES
    log = SessionLog.create(tmp_path / "s", lambda: 1)
    begin_request(log, "m", long, [])
    log.close()
    assert (tmp_path / "s" / LOG_NAME).stat().st_size < len(long)
    assert requests_in(tmp_path / "s")[0].system == long


def test_the_log_of_a_session_tells_the_prompt_and_the_tools(robota: Robota, workspace: Path) -> None:
    script(robota, {"calls": [call("list_files", path=".")]}, {"text": "Done."})
    assert robota("-p", "look around", "--session-id", "asked").code == 0
    directory = workspace / ".robota" / "sessions" / "asked"
    first, second = requests_in(directory)
    assert str(workspace) in first.system
    assert "read_file" in [tool["name"] for tool in first.tools]
    assert (first.system, first.tools) == (second.system, second.tools)
    assert count(load(directory / LOG_NAME), "request") == 1
