"""An editor: starts `robota acp`, speaks the protocol, and checks each line against its official schema."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.harness.cli import EXECUTABLE, Robota, clean_environment

ROOT = Path(__file__).parents[3]
# The schema with what is not stable yet, because forking is.
SCHEMA = ROOT / ".venv/mcp-servers/node_modules/@agentclientprotocol/sdk/schema/v1/schema.unstable.json"
RESULTS = {
    "initialize": "InitializeResponse",
    "authenticate": "AuthenticateResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/fork": "ForkSessionResponse",
    "session/delete": "DeleteSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/close": "CloseSessionResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
    "session/prompt": "PromptResponse",
}
CALLS = {
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "elicitation/create": "CreateElicitationRequest",
    "terminal/create": "CreateTerminalRequest",
    "terminal/wait_for_exit": "WaitForTerminalExitRequest",
    "terminal/release": "ReleaseTerminalRequest",
    "fs/read_text_file": "ReadTextFileRequest",
    "fs/write_text_file": "WriteTextFileRequest",
}

Answer = Callable[[dict[str, Any]], Any]


@cache
def _validator(name: str) -> Any:
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": _strict_definitions()})


@cache
def _strict_definitions() -> dict[str, Any]:
    """The definitions of the official schema, in which a field that none of them names is an error."""
    definitions = json.loads(SCHEMA.read_text())["$defs"]
    parts = {reference for each in definitions.values() for reference in _composed(each)}
    return {name: _closed(each, is_part=f"#/$defs/{name}" in parts) for name, each in definitions.items()}


def _composed(schema: dict[str, Any]) -> Iterator[str]:
    """What is joined with other fields to one object, and so must allow these."""
    members = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    if "properties" in schema:
        yield from (each["$ref"] for each in (*schema.get("allOf", ()), *members) if "$ref" in each)
    for member in members:
        yield from (each["$ref"] for each in member.get("allOf", ()) if "$ref" in each)


def _closed(schema: dict[str, Any], *, is_part: bool) -> dict[str, Any]:
    if is_part:
        return schema
    if "properties" in schema:
        return {**schema, "unevaluatedProperties": False}
    unions = {name: schema[name] for name in ("oneOf", "anyOf") if name in schema}
    return {**schema, **{name: [_closed(each, is_part=False) for each in members] for name, members in unions.items()}}


def check(name: str, value: Any) -> None:
    """Fail if the value does not have this form of the official schema."""
    if not SCHEMA.exists():
        pytest.skip("the schema of the Agent Client Protocol is not installed: make mcp-servers")
    errors = [f"{error.json_path}: {error.message}" for error in _validator(name).iter_errors(value)]
    assert not errors, f"{name}: {errors[:3]} in {json.dumps(value)[:600]}"


class RequestFailed(Exception):
    """The agent answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class Editor:
    """The client side of one connection. `answers` has what to answer the agent's requests with, by method."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process, self._in, self._out = process, process.stdin, process.stdout
        self._last = 0
        self._methods: dict[int, str] = {}
        self.answers: dict[str, Answer] = {}
        self.requests: list[dict[str, Any]] = []
        self.updates: list[dict[str, Any]] = []
        self.on_update: Callable[[dict[str, Any]], None] = lambda update: None

    def send(self, message: dict[str, Any]) -> None:
        self._in.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._in.flush()

    def raw(self, line: bytes) -> None:
        self._in.write(line)
        self._in.flush()

    def start(self, method: str, **params: Any) -> int:
        self._last += 1
        self._methods[self._last] = method
        self.send({"id": self._last, "method": method, "params": params})
        return self._last

    def call(self, method: str, **params: Any) -> Any:
        return self.result(self.start(method, **params))

    def result(self, number: int | None) -> Any:
        """Read until the answer to this request has come."""
        while True:
            message = self.read()
            if message is None:
                raise AssertionError("the agent ended before it answered")
            if "method" not in message and message.get("id") == number:
                if "error" in message:
                    check("Error", message["error"])
                    raise RequestFailed(message["error"])
                if number is not None:
                    check(RESULTS[self._methods[number]], message["result"])
                return message["result"]

    def until(self, kind: str) -> dict[str, Any]:
        """Read until an update of this kind comes."""
        seen = len(self.updates)
        while True:
            for update in self.updates[seen:]:
                if update["sessionUpdate"] == kind:
                    return update
            seen = len(self.updates)
            assert self.read() is not None, f"the agent ended before an update {kind}"

    def read(self) -> dict[str, Any] | None:
        """Take one line; requests of the agent are answered."""
        line = self._out.readline()
        if not line:
            return None
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0", message
        method = message.get("method")
        if method in CALLS:
            check(CALLS[method], message["params"])
        if method == "session/update":
            self.updates.append(message["params"]["update"])
            self.on_update(message["params"]["update"])
        elif method is not None and "id" in message:
            self.requests.append(message)
            answer = self.answers[method](message["params"])
            if answer is not None:
                self.send({"id": message["id"], "result": answer})
        return message

    def said(self, kind: str = "agent_message_chunk") -> str:
        return "".join(each["content"]["text"] for each in self.updates if each["sessionUpdate"] == kind)

    def calls(self) -> dict[str, dict[str, Any]]:
        """All calls, each as the updates made it."""
        calls: dict[str, dict[str, Any]] = {}
        for update in self.updates:
            if update["sessionUpdate"] == "tool_call":
                assert update["toolCallId"] not in calls, "a call was announced twice"
                calls[update["toolCallId"]] = dict(update)
            elif update["sessionUpdate"] == "tool_call_update":
                calls[update["toolCallId"]].update(update)
        return calls

    def open(self, cwd: Path, **more: Any) -> str:
        """Introduce the editor and start a session."""
        self.introduce(**more)
        session: str = self.call("session/new", cwd=str(cwd), mcpServers=[])["sessionId"]
        return session

    def introduce(self, **capabilities: Any) -> Any:
        return self.call("initialize", protocolVersion=1, clientCapabilities=capabilities)

    def prompt(self, session: str, text: str, *blocks: dict[str, Any]) -> str:
        reason: str = self.call("session/prompt", sessionId=session, prompt=[words(text), *blocks])["stopReason"]
        return reason


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def selects(kind: str) -> Answer:
    """Choose the first option of a kind."""

    def answer(params: dict[str, Any]) -> Any:
        chosen = next(each["optionId"] for each in params["options"] if each["kind"] == kind)
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    return answer


@contextmanager
def editing(robota: Robota, *options: str, **variables: str) -> Iterator[Editor]:
    """Run `robota acp`. At the end its input is closed, and it must end by itself."""
    process = subprocess.Popen(
        [EXECUTABLE, "acp", *options],
        cwd=robota.home,
        env={**clean_environment(robota.home), **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield Editor(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
        process.wait()
