"""`robota acp` with editors that are wrong, slow or gone: nothing runs that was not allowed, and nothing hangs."""

import json
import sys
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.clients.acp.editor import RequestFailed, editing, selects, words
from tests.harness.cli import Robota

WRITE = call("write_to_file", path="a.txt", content="one\n")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{half a line\n", -32700),
        (b"[1, 2]\n", -32600),
        (b'"words"\n', -32600),
        (b"\xff\xfe\n", -32700),
        (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "initialize"}\n', -32600),
        (b'{"jsonrpc": "2.0", "id": "x", "method": "no/such"}\n', -32601),
        (b'{"jsonrpc": "2.0", "id": "x", "method": "session/new", "params": {"cwd": 7}}\n', -32602),
        (b'{"jsonrpc": "2.0", "id": "x", "method": "session/new", "params": []}\n', -32602),
        (
            b'{"jsonrpc": "2.0", "id": "x", "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}}\n',
            -32002,
        ),
        (b" " * 10 + b"x" * (17 * 1024 * 1024) + b"\n", -32700),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_line_that_cannot_be_used_is_answered_and_changes_nothing(robota: Robota, line: bytes, code: int) -> None:
    script(robota, {"text": "Hello."})
    with editing(robota) as editor:
        editor.raw(line)
        answer = editor.read()
        assert answer is not None and answer["error"]["code"] == code
        session = editor.open(robota.workspace)
        assert editor.prompt(session, "hi") == "end_turn" and editor.said() == "Hello."


def test_answers_to_requests_that_never_were_are_ignored(robota: Robota) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Not."})
    allowed = {"outcome": {"outcome": "selected", "optionId": "allow"}}
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        for number in (1, 2, 99, "1", None):
            editor.send({"id": number, "result": allowed})
        editor.answers["session/request_permission"] = selects("reject_once")
        editor.prompt(session, "go")
    assert not (robota.workspace / "a.txt").exists()


def test_a_relative_directory_is_refused(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    with editing(robota) as editor:
        editor.introduce()
        for cwd in ("relative", "", str(robota.workspace / "missing")):
            with pytest.raises(RequestFailed, match="Nothing was started"):
                editor.call("session/new", cwd=cwd, mcpServers=[])
        with pytest.raises(RequestFailed):
            editor.call("session/load", sessionId="unknown", cwd=str(robota.workspace), mcpServers=[])


def test_an_editor_that_leaves_with_a_permission_request_open_allows_nothing(robota: Robota) -> None:
    """The agent ends by itself, and the question is asked again when the session is loaded."""
    script(robota, {"calls": [WRITE]}, {"text": "Done."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.answers["session/request_permission"] = lambda params: None
        editor.start("session/prompt", sessionId=session, prompt=[words("go")])
        while not editor.requests:
            editor.read()
    assert not (robota.workspace / "a.txt").exists()
    script(robota, {"text": "Done."})
    with editing(robota) as editor:
        editor.introduce()
        editor.answers["session/request_permission"] = selects("allow_once")
        editor.call("session/load", sessionId=session, cwd=str(robota.workspace), mcpServers=[])
        editor.prompt(session, "yes, go on")


def test_a_killed_agent_leaves_a_session_that_can_be_loaded(robota: Robota) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Done."})
    with pytest.raises(AssertionError), editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.answers["session/request_permission"] = lambda params: None
        editor.start("session/prompt", sessionId=session, prompt=[words("go")])
        while not editor.requests:
            editor.read()
        editor.process.kill()
        editor.process.wait()
    script(robota, {"text": "Again."})
    with editing(robota) as editor:
        editor.introduce()
        editor.answers["session/request_permission"] = selects("reject_once")
        editor.call("session/load", sessionId=session, cwd=str(robota.workspace), mcpServers=[])
        assert editor.said("user_message_chunk") == "go"
        assert editor.prompt(session, "go on") == "end_turn" and editor.said().endswith("Again.")
    assert not (robota.workspace / "a.txt").exists()


def test_two_editors_on_one_session_see_the_same_and_the_first_answer_wins(robota: Robota) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Done."})
    with editing(robota) as first, editing(robota) as second:
        session = first.open(robota.workspace)
        second.introduce()
        second.call("session/load", sessionId=session, cwd=str(robota.workspace), mcpServers=[])
        first.answers["session/request_permission"] = lambda params: None
        second.answers["session/request_permission"] = selects("allow_once")
        running = first.start("session/prompt", sessionId=session, prompt=[words("go")])
        while second.said() != "Done.":
            assert second.read() is not None
        assert first.result(running)["stopReason"] == "end_turn"
        assert second.said("user_message_chunk") == "go"
    assert (robota.workspace / "a.txt").read_text() == "one\n"


def test_a_request_can_be_cancelled(robota: Robota) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "Done."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.answers["session/request_permission"] = lambda params: None
        running = editor.start("session/prompt", sessionId=session, prompt=[words("go")])
        while not editor.requests:
            editor.read()
        editor.send({"method": "$/cancel_request", "params": {"requestId": running}})
        with pytest.raises(RequestFailed) as failed:
            editor.result(running)
        assert failed.value.code == -32800
    assert not (robota.workspace / "a.txt").exists()


def test_several_questions_can_be_open_at_once(robota: Robota) -> None:
    """Two agents side by side; the editor answers the second one first."""
    agents = [
        call("agent", description=name, prompt=f"write {name}", subagent_type="general-purpose")
        for name in ("one", "two")
    ]
    write = {name: call("write_to_file", path=f"{name}.txt", content=name) for name in ("one", "two")}
    script(
        robota,
        {"calls": agents},
        *({"task": f"write {name}", "calls": [write[name]]} for name in write),
        *({"task": f"write {name}", "text": f"wrote {name}"} for name in write),
        {"text": "Both."},
    )
    waiting: list[dict[str, Any]] = []
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        editor.answers["session/request_permission"] = waiting.append
        running = editor.start("session/prompt", sessionId=session, prompt=[words("go")])
        while len(waiting) < 2:
            assert editor.read() is not None
        shown = [each["params"]["toolCall"] for each in editor.requests]
        assert {each["rawInput"]["path"] for each in shown} == {"one.txt", "two.txt"}
        assert {each["toolCallId"] for each in shown} <= editor.calls().keys() and len(editor.calls()) == 4
        for request in reversed([each for each in editor.requests if each["method"] == "session/request_permission"]):
            editor.send({"id": request["id"], "result": selects("allow_once")(request["params"])})
        assert editor.result(running)["stopReason"] == "end_turn"
    assert {path.name for path in robota.workspace.glob("*.txt")} == {"one.txt", "two.txt"}


def test_an_mcp_server_of_the_editor_is_started_and_its_calls_are_asked_about(robota: Robota) -> None:
    script(robota, {"calls": [{"name": "mcp--greeter--greet", "arguments": {"name": "Ada"}}]}, {"text": "Greeted."})
    server = robota.home / "greeter.py"
    server.write_text(SERVER)
    with editing(robota) as editor:
        editor.introduce()
        servers = [
            {
                "name": "greeter",
                "command": sys.executable,
                "args": [str(server)],
                "env": [{"name": "WHO", "value": "you"}],
            }
        ]
        session = editor.call("session/new", cwd=str(robota.workspace), mcpServers=servers)["sessionId"]
        editor.answers["session/request_permission"] = selects("allow_once")
        assert editor.prompt(session, "go") == "end_turn"
        [greeting] = editor.calls().values()
        assert greeting["status"] == "completed" and editor.requests, greeting
        assert "Hello Ada, from you" in json.dumps(greeting)


SERVER = """
import os
from mcp.server import MCPServer
server = MCPServer("greeter")
@server.tool()
def greet(name: str) -> str:
    return f"Hello {name}, from {os.environ['WHO']}"
server.run()
"""


def test_an_approval_shows_the_whole_command_and_what_is_invisible_in_it(robota: Robota) -> None:
    """The title is shortened, and the arguments are only for machines."""
    long = "echo running the tests $HOME; " + "true; " * 40 + "echo pwned > EVIL; " + "true; " * 40 + "echo the end"
    for command in (long, "echo a\u202e\u200b $HOME\x1b[2K"):
        script(robota, {"calls": [call("execute_command", command=command)]}, {"text": "Not."})
        with editing(robota) as editor:
            session = editor.open(robota.workspace)
            editor.answers["session/request_permission"] = selects("reject_once")
            editor.prompt(session, "go")
            shown = editor.requests[0]["params"]["toolCall"]
            text = "\n".join(each["content"]["text"] for each in shown["content"])
            announced = next(each["title"] for each in editor.updates if each["sessionUpdate"] == "tool_call")
            for part in (text, shown["title"], announced):
                assert not {"\u202e", "\u200b", "\x1b"} & set(part)
            assert ("pwned > EVIL" in text) is (command == long)


def test_a_second_try_outside_the_sandbox_does_not_look_like_the_first_call(robota: Robota) -> None:
    script_path = robota.workspace / "test.sh"
    script_path.write_text("#!/bin/sh\necho x > /attacked || exit 2\n")
    script_path.chmod(0o755)
    script(robota, {"calls": [call("execute_command", command="./test.sh")]}, {"text": "Not."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace)
        answers = iter(("allow_once", "reject_once", "reject_once"))
        editor.answers["session/request_permission"] = lambda params: selects(next(answers))(params)
        editor.prompt(session, "go")
        first, second = (each["params"]["toolCall"] for each in editor.requests)
        assert first["rawInput"] == {"command": "./test.sh"} and second["rawInput"] != first["rawInput"]
        assert any("This is another call" in each["content"]["text"] for each in second["content"])
