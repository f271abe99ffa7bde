"""`--output-format codex`, as scripts written for `codex exec --json` read it."""

import json
import shutil
import subprocess
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Robota

WRITE = call("write_to_file", path="a.txt", content="one\n")
EVERYTHING = ("-p", "go", "--output-format", "codex", "--permission-mode", "bypassPermissions")


def lines(robota: Robota, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in robota(*arguments).stdout.splitlines()]


def items(printed: list[dict[str, Any]], what: str = "completed") -> list[dict[str, Any]]:
    return [line["item"] for line in printed if line["type"] == f"item.{what}"]


def test_a_turn_has_the_items_of_codex(robota: Robota) -> None:
    script(
        robota,
        {"reasoning": "Hm.", "text": "I begin.", "calls": [WRITE], "usage": {"input": 10, "output": 5, "cacheRead": 3}},
        {"calls": [call("execute_command", command="echo out; exit 3")]},
        {"calls": [call("update_todo_list", todos="[x] one\n[ ] two")]},
        {"calls": [call("read_file", path="a.txt")]},
        {"text": "Done."},
    )
    printed = lines(robota, *EVERYTHING)
    assert [line["type"] for line in printed[:2]] == ["thread.started", "turn.started"]
    reasoning, begun, change, command, read, answer, plan = items(printed)
    assert (reasoning["type"], begun["text"], answer["text"]) == ("reasoning", "I begin.", "Done.")
    assert change["changes"] == [{"path": "a.txt", "kind": "add"}]
    assert (command["command"], command["exit_code"], command["status"]) == ("echo out; exit 3", 3, "failed")
    assert "out" in command["aggregated_output"]
    assert (read["type"], read["tool"], read["status"]) == ("mcp_tool_call", "read_file", "completed")
    assert plan["items"] == [{"text": "one", "completed": True}, {"text": "two", "completed": False}]
    [started] = [each for each in items(printed, "started") if each["type"] == "command_execution"]
    assert started["id"] == command["id"] and started["status"] == "in_progress"
    assert printed[-1]["type"] == "turn.completed" and printed[-1]["usage"]["input_tokens"] >= 13


def test_a_denied_command_is_declined_and_a_failure_is_a_failed_turn(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="touch b $HOME")]}, {"fault": {"kind": "billing_error"}})
    printed = lines(robota, "-p", "go", "--output-format", "codex")
    [command] = [each for each in items(printed) if each["type"] == "command_execution"]
    assert command["status"] == "declined"
    assert [line["type"] for line in printed[-2:]] == ["error", "turn.failed"] and printed[-1]["error"]["message"]


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
@pytest.mark.parametrize(
    ("output_format", "program", "expected"),
    [
        (
            "codex",
            'select(.type=="item.completed" and .item.type=="agent_message") | .item.text',
            ["I begin.", "Done."],
        ),
        ("codex", 'select(.type=="turn.completed") | .usage | has("cached_input_tokens")', ["true"]),
        ("codex", 'select(.item.type=="file_change" and .type=="item.completed") | .item.changes[].path', ["a.txt"]),
        (
            "stream-json",
            'select(.type=="assistant") | .message.content[] | select(.type=="text") | .text',
            ["I begin.", "Done."],
        ),
        (
            "stream-json",
            'select(.type=="assistant") | .message.content[] | select(.type=="tool_use").name',
            ["Write"],
        ),
        ("stream-json", 'select(.type=="system" and .subtype=="init") | .tools | index("Bash") != null', ["true"]),
        ("stream-json", 'select(.type=="result") | [.subtype, .is_error, .num_turns] | @csv', ['"success",false,2']),
    ],
)
def test_scripts_with_jq_read_both_formats(
    robota: Robota, output_format: str, program: str, expected: list[str]
) -> None:
    script(robota, {"text": "I begin.", "calls": [WRITE]}, {"text": "Done."})
    done = robota("-p", "go", "--output-format", output_format, "--verbose", "--permission-mode", "acceptEdits")
    read = subprocess.run(["jq", "-r", program], input=done.stdout, capture_output=True, text=True, check=True)
    assert read.stdout.splitlines() == expected
