"""The fake server itself: four dialects, streamed and whole, every fault, and the same bytes every time."""

import http.client
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.fakellm.overheads import overheads
from tests.fakellm.server import running
from tests.fakellm.shapes import HELLO

READ = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
COMMAND = {"type": "object", "properties": {"command": {"type": "array"}}, "required": ["command"]}
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI = "/v1beta/models/g:streamGenerateContent?alt=sse"
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"messages": [], "tools": [{"type": "function", "function": {"name": "read_file", "parameters": READ}}]},
    RESPONSES: {"input": [], "tools": [{"type": "function", "name": "shell", "parameters": COMMAND}]},
    MESSAGES: {"messages": [], "tools": [{"name": "Read", "input_schema": READ}]},
    GEMINI: {"contents": [], "tools": [{"functionDeclarations": [{"name": "ReadFile", "parametersJsonSchema": READ}]}]},
}
DIALECTS = pytest.mark.parametrize("path", list(BODIES))


def post(url: str, body: dict[str, Any]) -> str:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        text: str = response.read().decode()
    return text


def ask(url: str, path: str, **fields: Any) -> list[dict[str, Any]]:
    """The events of a streamed reply."""
    text = post(url + path, {"model": "m", "stream": True, **BODIES[path], **fields})
    lines = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def text_of(path: str, events: list[dict[str, Any]]) -> str:
    if path == CHAT:
        return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])
    if path == RESPONSES:
        return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    if path == MESSAGES:
        return "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")
    return "".join(part.get("text", "") for event in events for part in event["candidates"][0]["content"]["parts"])


def arguments_of(path: str, events: list[dict[str, Any]]) -> str:
    if path == CHAT:
        deltas = [choice["delta"] for event in events for choice in event["choices"]]
        return "".join(call["function"]["arguments"] for delta in deltas for call in delta.get("tool_calls", []))
    if path == RESPONSES:
        return "".join(event["delta"] for event in events if event["type"].endswith("arguments.delta"))
    if path == MESSAGES:
        deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
        return "".join(delta.get("partial_json", "") for delta in deltas)
    return json.dumps(events)


@DIALECTS
def test_a_loop_reads_another_file_each_turn_and_ends_in_text(path: str, tmp_path: Path) -> None:
    with running("loop:2", workdir=str(tmp_path)) as fake:
        for number in range(2):
            assert f"f{number:04d}.txt" in arguments_of(path, ask(fake.url, path))
            assert (tmp_path / f"f{number:04d}.txt").exists()
        assert text_of(path, ask(fake.url, path)) == HELLO
        assert [record["reply"].split(":")[0] for record in fake.records] == ["call", "call", "final"]
        assert overheads(fake.records)["main"] >= 2


@DIALECTS
def test_the_same_request_gives_the_same_bytes(path: str, tmp_path: Path) -> None:
    with running("hello", workdir=str(tmp_path)) as fake:
        first = ask(fake.url, path)
        fake.reset("hello")
        assert ask(fake.url, path) == first
        fake.reset("stream:500")
        assert len(text_of(path, ask(fake.url, path))) == 2000


@DIALECTS
def test_faults(path: str, tmp_path: Path) -> None:
    with running("fault:429", workdir=str(tmp_path)) as fake:
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(fake.url, path)
        assert (refused.value.code, refused.value.headers["Retry-After"]) == (429, "1")
        refused.value.close()
        assert text_of(path, ask(fake.url, path)) == HELLO
        for kind in ("cut", "cutcall"):
            fake.reset(f"fault:{kind}")
            with pytest.raises((OSError, http.client.IncompleteRead)):
                ask(fake.url, path)
        fake.reset("fault:eof")
        assert text_of(path, ask(fake.url, path)) == "This is cut short he"
        fake.reset("fault:badtool")
        assert "no_such_tool" in json.dumps(ask(fake.url, path))
        fake.reset("fault:empty")
        assert text_of(path, ask(fake.url, path)) == ""


@DIALECTS
def test_a_request_without_tools_is_a_side_request(path: str, tmp_path: Path) -> None:
    with running("loop:1", workdir=str(tmp_path)) as fake:
        assert text_of(path, ask(fake.url, path, tools=[])) == "A title"
        assert fake.records[0]["kind"] == "side"


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES, "/v1beta/models/g:generateContent"])
def test_without_a_stream(path: str, tmp_path: Path) -> None:
    body = BODIES.get(path, BODIES[GEMINI])
    with running("loop:1", workdir=str(tmp_path)) as fake:
        assert "f0000.txt" in post(fake.url + path, {"model": "m", **body})
        assert HELLO in post(fake.url + path, {"model": "m", **body})


def test_a_script_and_the_side_doors(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "Hm.", "calls": [{"name": "x", "args": {"a": 1}}]}, {"fault": 500}]))
    with running(f"script:{script}", workdir=str(tmp_path)) as fake:
        assert text_of(CHAT, ask(fake.url, CHAT)) == "Hm."
        with pytest.raises(urllib.error.HTTPError) as failed:
            ask(fake.url, CHAT)
        failed.value.close()
        assert text_of(CHAT, ask(fake.url, CHAT)) == HELLO
        with urllib.request.urlopen(fake.url + "/v1/models") as models:
            assert json.load(models)["data"][0]["id"] == "fake-model"
        assert json.loads(post(fake.url + "/v1/messages/count_tokens", {"messages": []}))["input_tokens"] > 0
        assert json.loads(post(fake.url + "/__fake/reset", {"scenario": "hello"})) == []


def test_as_a_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fakellm", "--port", "0", "--workdir", str(tmp_path)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        try:
            assert text_of(CHAT, ask(url, CHAT)) == HELLO
        finally:
            process.terminate()
