"""Programs of other projects that drive agents over the Agent Client Protocol: the official SDK, and acpx."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.scripts import call, script
from tests.clients.acp.editor import ROOT
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
        [str(each) for each in command], cwd=robota.workspace, env=env, capture_output=True, text=True, timeout=120
    )


def acpx(robota: Robota, *arguments: str) -> "subprocess.CompletedProcess[str]":
    agent = ("--cwd", str(robota.workspace), "--agent", f"{EXECUTABLE} acp")
    return node(robota, "node", PACKAGES / ".bin/acpx", *agent, *arguments)


def test_the_official_sdk_finds_nothing_wrong(robota: Robota) -> None:
    script(robota, {"text": "I write.", "reasoning": "Hm.", "calls": [WRITE]}, {"text": "Done."})
    client = robota.home / "client.mjs"
    client.write_text((Path(__file__).parent / "strict_client.mjs").read_text())
    (robota.home / "node_modules").symlink_to(PACKAGES)
    done = node(robota, "node", client, EXECUTABLE, robota.workspace)
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


def test_acpx_keeps_a_session_over_several_prompts(robota: Robota) -> None:
    script(robota, {"text": "First answer."})
    assert acpx(robota, "sessions", "new").returncode == 0
    first = acpx(robota, "--approve-all", "prompt", "one")
    assert "First answer." in first.stdout, first
    script(robota, {"text": "Second answer."})
    second = acpx(robota, "--approve-all", "prompt", "two")
    assert "Second answer." in second.stdout, second
    assert acpx(robota, "set-mode", "plan").returncode == 0
    acpx(robota, "sessions", "close")
