"""Hooks that fail, and hooks that are set up wrongly."""

import http.server
import json
import select
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

from robota.protocol.events import Notice
from tests.engine.stage import Stage, call, tool_results
from tests.hooks.hooked import BASH, BYPASS, DONE, command, decide, finish, on, play_with_hooks, say_json

TROUBLE: dict[str, dict[str, Any]] = {
    "time-out": command("sleep 1000", timeout=0.2),
    "crash": command("kill -9 $$"),
    "exit code": command("echo oops >&2; exit 1"),
    "broken JSON": command("echo '{broken'"),
    "another event": say_json(hookSpecificOutput={"hookEventName": "Stop", "permissionDecision": "allow"}),
    "no such command": command("no-such-command-anywhere"),
    "no such program": {"type": "command", "command": "/no/such/program", "args": []},
    "nobody answers": {"type": "http", "url": "http://127.0.0.1:1/"},
    "no URL": {"type": "http", "url": "nonsense"},
}


@pytest.mark.parametrize("fail_closed", [False, True], ids=["open", "closed"])
@pytest.mark.parametrize("handler", TROUBLE.values(), ids=TROUBLE.keys())
def test_no_decision_lets_the_call_go_on_or_not_as_the_handler_says(
    workspace: Path, handler: dict[str, Any], fail_closed: bool
) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "ran").exists() is not fail_closed
        told = tool_results(stage)[0].content if fail_closed else stage.events_of(Notice)[0].text
        assert "returned no decision" in told

    hooks = on("PreToolUse", {**handler, "failClosed": fail_closed})
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(check), **BYPASS)


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PermissionRequest"])
def test_fail_closed_elsewhere(workspace: Path, event: str) -> None:
    def check(stage: Stage) -> None:
        assert not (workspace / "ran").exists()
        assert "returned no decision" in stage.says("error")[0]

    hooks = on(event, command("exit 1", failClosed=True))
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(check))


def test_what_cannot_be_used_is_named_and_the_rest_works(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        text = "\n".join(stage.opened.notices)
        assert "type 'agent'" in text and "'mcp_tool'" in text and "command, http, prompt" in text
        assert "PreToolUse[0].hooks[3]" in text and "no tool called 'Nonsense'" in text
        assert "Stop[0].hooks[0]" in text and "tool calls only" in text
        await finish(lambda stage: None)(stage)
        assert not (workspace / "ran").exists()

    hooks = on(
        "PreToolUse",
        {"type": "agent", "prompt": "is it good?"},
        {"type": "mcp_tool", "server": "x", "tool": "y"},
        command("exit 2", statusMessage="thinking", once=True, shell="bash"),
        command("true", **{"if": "Nonsense(x)"}),
    ) | on("Stop", command("exit 2", **{"if": "Bash"}))
    play_with_hooks(workspace, hooks, [BASH, DONE], story, **BYPASS)


@pytest.mark.parametrize(
    ("rule", "shell_command", "runs"),
    [
        ("Bash(git push *)", "git status", False),
        ("Bash(git push *)", "git push --force", True),
        ("Bash(git push *)", "ls && git push", True),
        ("Bash(git push *)", "eval \"$(printf 'git push')\"", True),
        ("Edit(*.py)", "git status", False),
    ],
)
def test_a_condition_is_a_permission_rule(workspace: Path, rule: str, shell_command: str, runs: bool) -> None:
    hooks = on("PreToolUse", command("touch hooked; exit 2", **{"if": rule}))
    turns = [{"calls": [call("execute_command", command=shell_command)]}, DONE]
    play_with_hooks(workspace, hooks, turns, finish(), **BYPASS)
    assert (workspace / "hooked").exists() is runs


class Judge(http.server.BaseHTTPRequestHandler):
    """Answers as the path says, and remembers what it heard."""

    heard: ClassVar[list[tuple[str | None, Any]]] = []
    deny = json.dumps({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.heard.append((self.headers.get("authorization"), body))
        if self.path == "/drip":
            return self._drip()
        answers = {
            "/deny": (200, self.deny),
            "/empty": (204, ""),
            "/error": (500, self.deny),
            "/redirect": (307, self.deny),
            "/text": (200, "certainly"),
            "/list": (200, "[]"),
            "/huge": (200, " " * 2_000_000 + self.deny),
        }
        status, text = answers[self.path]
        self.send_response(status)
        self.send_header("location", "/deny")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        with suppress(ConnectionError):
            self.wfile.write(text.encode())

    def _drip(self) -> None:
        """Never silent for long, and never done."""
        self.send_response(200)
        self.end_headers()
        with suppress(ConnectionError):
            while not select.select([self.connection], [], [], 0.02)[0]:
                self.wfile.write(b" ")

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def judge() -> Iterator[str]:
    Judge.heard.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_an_http_hook_is_posted_the_event_and_decides(workspace: Path, judge: str) -> None:
    variables = {"JUDGE_TOKEN": "abc\n", "OTHER_SECRET": "xyz"}

    def check(stage: Stage) -> None:
        assert not (workspace / "ran").exists()
        [(token, event)] = Judge.heard
        assert token == "Bearer abc, abc," and event["tool_input"] == {"command": "touch ran"}

    headers = {"authorization": "Bearer $JUDGE_TOKEN, ${JUDGE_TOKEN}, $OTHER_SECRET$JUDGE_TOKEN_2"}
    handler = {"type": "http", "url": f"{judge}/deny", "headers": headers, "allowedEnvVars": ["JUDGE_TOKEN"]}
    hooks = on("PreToolUse", handler)
    play_with_hooks(workspace, hooks, [BASH, DONE], finish(check), variables=variables, **BYPASS)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/empty", None),
        ("/error", "status 500"),
        ("/redirect", "status 307"),
        ("/text", "not valid JSON"),
        ("/list", "not a JSON object"),
        ("/huge", "over 1048576 bytes"),
        ("/drip", "within 3 s"),
    ],
)
@pytest.mark.parametrize("fail_closed", [False, True], ids=["open", "closed"])
def test_http_answers_that_are_no_decision(
    workspace: Path, judge: str, path: str, problem: str | None, fail_closed: bool
) -> None:
    def check(stage: Stage) -> None:
        assert (workspace / "ran").exists() is (problem is None or not fail_closed)
        assert len(Judge.heard) == 1
        if problem is not None:
            told = tool_results(stage)[0].content if fail_closed else stage.events_of(Notice)[0].text
            assert problem in told

    timeout = {"timeout": 3} if path == "/drip" else {}
    handler = {"type": "http", "url": f"{judge}{path}", "failClosed": fail_closed, **timeout}
    play_with_hooks(workspace, on("PreToolUse", handler), [BASH, DONE], finish(check), **BYPASS)


def test_the_strictest_of_a_command_and_a_server_holds(workspace: Path, judge: str) -> None:
    def check(stage: Stage) -> None:
        assert not (workspace / "ran").exists()

    handlers = (decide("allow", updatedInput={"command": "touch ran"}), {"type": "http", "url": f"{judge}/deny"})
    play_with_hooks(workspace, on("PreToolUse", *handlers), [BASH, DONE], finish(check), **BYPASS)
