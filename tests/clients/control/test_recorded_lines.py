"""A corpus of lines, recorded from many turns, that the parser of Claude's Python SDK accepts."""

import json
import random
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Robota

parser: Any = pytest.importorskip(
    "claude_agent_sdk._internal.message_parser", reason="needs requirements/claude-sdk.txt"
)

STEPS: tuple[dict[str, Any], ...] = (
    {"reasoning": "Hm.", "text": "I look.", "calls": [call("list_files", path=".")]},
    {"calls": [call("write_to_file", path="a.txt", content="one\n")]},
    {"calls": [call("edit_file", path="a.txt", old_string="one", new_string="two")]},
    {"calls": [call("execute_command", command="echo out; exit 3")]},
    {"calls": [call("update_todo_list", todos="[x] one\n[-] two")]},
    {"calls": [call("read_file", path="missing.txt")]},
    {"calls": [call("agent", description="look", prompt="look around", subagent_type="Explore")]},
    {"calls": [call("agent", description="look", prompt="look around", run_in_background=True)]},
    {"calls": [{"name": "no_such_tool", "arguments": "{broken"}]},
    {"fault": {"kind": "rate_limit"}},
    {"text": "\u202e\x1b[31m" + "long " * 3000},
)
ENDS: tuple[dict[str, Any], ...] = (
    {"text": "The end."},
    {"fault": {"kind": "authentication_failed"}},
    {"calls": [call("ask_followup_question", question="Which?", follow_up=[{"text": "red"}])]},
)


def test_the_parser_of_the_sdk_accepts_every_line(robota: Robota) -> None:
    chosen, kinds = random.Random(11), set[str]()
    for number in range(12):
        steps = (*chosen.sample(STEPS, 4), ENDS[number % len(ENDS)])
        script(robota, *steps, {"task": "look around", "text": "Seen.", "repeat": 100}, otherwise={"text": "Well."})
        mode = chosen.choice(["default", "acceptEdits", "bypassPermissions", "plan"])
        partials = ("--include-partial-messages",) if number % 2 else ()
        done = robota("-p", "go", "--output-format", "stream-json", "--verbose", "--permission-mode", mode, *partials)
        for line in done.stdout.splitlines():
            read = json.loads(line)
            parsed = parser.parse_message(read)
            assert parsed is not None or read["type"] not in ("assistant", "user", "result", "system"), line
            kinds.add(type(parsed).__name__)
    assert {"AssistantMessage", "UserMessage", "ResultMessage", "StreamEvent", "TaskStartedMessage"} <= kinds
