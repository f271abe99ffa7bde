"""Programs of other projects that drive agents over the Agent Client Protocol: the official SDK, and acpx."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.clients.acp.editor import CALLS, ROOT, check, editing, words
from tests.harness.cli import EXECUTABLE, Robota, clean_environment

PACKAGES = ROOT / ".venv/mcp-servers/node_modules"
WRITE = call("write_to_file", path="a.txt", content="one\n")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("node") is None or not (PACKAGES / "acpx").exists(),
        reason="needs node and its packages: make mcp-servers",
    ),
]


def node(robota: Robota, *command: str | Path) -> "subprocess.CompletedProcess[str]":
    env = {**clean_environment(robota.home), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [str(each) for each in command], cwd=robota.workspace, env=env, capture_output=True, text=True, timeout=300
    )


def program(robota: Robota, name: str) -> Path:
    """A program of this directory where it finds its packages."""
    copied = robota.home / name
    copied.write_text((Path(__file__).parent / name).read_text())
    (robota.home / "node_modules").symlink_to(PACKAGES)
    return copied


def acpx(robota: Robota, *arguments: str) -> "subprocess.CompletedProcess[str]":
    agent = ("--cwd", str(robota.workspace), "--agent", f"{EXECUTABLE} acp")
    return node(robota, "node", PACKAGES / ".bin/acpx", *agent, *arguments)


def test_the_official_sdk_finds_nothing_wrong(robota: Robota) -> None:
    script(robota, {"text": "I write.", "reasoning": "Hm.", "calls": [WRITE]}, {"text": "Done."})
    done = node(robota, "node", program(robota, "strict_client.mjs"), EXECUTABLE, robota.workspace)
    assert done.returncode == 0 and "rror" not in done.stderr, done.stderr
    result = json.loads(done.stdout)
    assert (result["stopReason"], result["listed"], result["code"]) == ("end_turn", 1, 0)
    assert {"agent_message_chunk", "agent_thought_chunk", "tool_call", "request_permission"} <= set(result["seen"])
    assert (robota.workspace / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize(("option", "is_written"), [("--approve-all", True), ("--deny-all", False)])
def test_acpx_runs_a_task(robota: Robota, option: str, is_written: bool) -> None:
    script(robota, {"calls": [WRITE]}, {"text": "The end."})
    done = acpx(robota, option, "--format", "text", "exec", "go")
    assert "The end." in done.stdout, done
    assert (robota.workspace / "a.txt").exists() is is_written


def test_acpx_runs_a_session_over_several_prompts(robota: Robota) -> None:
    script(robota, {"text": "First answer."})
    assert acpx(robota, "sessions", "new").returncode == 0
    first = acpx(robota, "--approve-all", "prompt", "one")
    assert "First answer." in first.stdout, first
    script(robota, {"text": "Second answer."})
    second = acpx(robota, "--approve-all", "prompt", "two")
    assert "Second answer." in second.stdout, second
    assert acpx(robota, "set-mode", "plan").returncode == 0
    assert acpx(robota, "cancel").returncode == 0
    assert robota("sessions", "list").stdout.count("one") == 1
    assert acpx(robota, "sessions", "close").returncode == 0


def test_acpx_loads_a_session_after_a_crash(robota: Robota) -> None:
    """It starts the agent anew for each prompt. The one that is killed has another client: acpx would wait for ever."""
    script(robota, {"calls": [call("execute_command", command="sleep 600")]}, {"text": "Not."})
    [created] = acpx(robota, "sessions", "new").stdout.split()
    unasked = editing(robota, "--permission-mode", "bypassPermissions")
    with pytest.raises(AssertionError, match="ended"), unasked as editor:
        editor.introduce()
        editor.call("session/load", sessionId=created, cwd=str(robota.workspace), mcpServers=[])
        running = editor.start("session/prompt", sessionId=created, prompt=[words("one")])
        editor.until("tool_call")
        editor.process.kill()
        editor.result(running)
    script(robota, {"text": "Second answer."})
    again = acpx(robota, "--approve-all", "prompt", "two")
    assert "Second answer." in again.stdout, again
    log = (robota.workspace / f".robota/sessions/{created}/log.jsonl").read_text()
    assert "one" in log and "two" in log


def test_acpx_cancels_a_prompt(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="sleep 600")]}, {"text": "Not."})
    acpx(robota, "sessions", "new")
    running = acpx_until_it_runs(robota)
    acpx(robota, "cancel")
    assert "cancelled" in running.communicate(timeout=60)[0]


def acpx_until_it_runs(robota: Robota) -> "subprocess.Popen[str]":
    """acpx with a prompt, once a call runs."""
    agent = ("--cwd", str(robota.workspace), "--agent", f"{EXECUTABLE} acp")
    env = {**clean_environment(robota.home), "PATH": os.environ["PATH"]}
    command = ["node", str(PACKAGES / ".bin/acpx"), *agent, "--approve-all", "--format", "json", "prompt", "one"]
    running = subprocess.Popen(command, cwd=robota.workspace, env=env, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert any("in_progress" in line for line in running.stdout)
    return running


STEPS: tuple[dict[str, Any], ...] = (
    {"text": "I **write**.", "reasoning": "Hm.", "calls": [WRITE]},
    {"calls": [call("read_file", path="a.txt")]},
    {"calls": [call("read_file", path="missing.txt")]},
    {"calls": [call("edit_file", path="a.txt", old_string="one", new_string="two")]},
    {"calls": [call("execute_command", command="printf 'x%.0s' $(seq 200); exit 3")]},
    {"calls": [call("list_files", path="."), call("glob", pattern="*.txt"), call("search_files", pattern="one")]},
    {"calls": [call("update_todo_list", todos="[x] one\n[-] two\n[ ] three")]},
    {"calls": [call("ask_followup_question", question="Which?", follow_up=[{"text": "red"}, {"text": "blue"}])]},
    {"calls": [call("agent", description="look", prompt="look around", subagent_type="Explore")]},
    {"calls": [{"name": "no_such_tool", "arguments": "{broken"}]},
    {"fault": {"kind": "rate_limit"}},
    {"fault": {"kind": "authentication_failed"}},
    {"text": "\u202e\x1b[31m`quoted`\n```\nfenced\n```\n" + "long " * 500},
)


def test_a_strict_client_sees_nothing_unknown_in_200_sessions(robota: Robota) -> None:
    """Of each kind of step, in many orders; each line that the agent writes is checked against the official schema."""
    count, chosen = 200, random.Random(7)
    turns: list[dict[str, Any]] = [{"task": "look around", "text": "Seen.", "repeat": 1000}]
    for number in range(count):
        turns += [{"task": f"task-{number}.", **step} for step in chosen.sample(STEPS, 3)]
        turns.append({"task": f"task-{number}.", "text": "The end."})
    script(robota, *turns, otherwise={"text": "Otherwise."})
    record = robota.home / "record.jsonl"
    done = node(robota, "node", program(robota, "many_sessions.mjs"), EXECUTABLE, robota.workspace, record, str(count))
    assert done.returncode == 0 and "nvalid" not in done.stderr and "Error" not in done.stderr, done.stderr[-3000:]
    result = json.loads(done.stdout)
    assert sum(result["reasons"].values()) == count and result["asked"] > 20 and result["code"] == 0
    assert {"end_turn", "cancelled"} <= set(result["reasons"]) <= {"end_turn", "cancelled", "error -32603"}, result
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    for line in lines:
        if line.get("method") in CALLS:
            check(CALLS[line["method"]], line["params"])
        assert line.keys() <= {"jsonrpc", "id", "method", "params", "result", "error"}
    kinds = {line["params"]["update"]["sessionUpdate"] for line in lines if line.get("method") == "session/update"}
    assert {"plan", "usage_update", "agent_thought_chunk", "tool_call_update", "user_message_chunk"} <= kinds
