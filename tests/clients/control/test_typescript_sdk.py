"""Claude's Agent SDK for TypeScript drives Robota."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import EXECUTABLE, Robota, clean_environment

PACKAGES = Path(__file__).parents[3] / ".venv/mcp-servers/node_modules"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("node") is None or not (PACKAGES / "@anthropic-ai/claude-agent-sdk").exists(),
        reason="needs node and its packages: make mcp-servers",
    ),
]


def run(robota: Robota, name: str) -> Any:
    """What the program prints, as JSON."""
    program = robota.home / name
    program.write_text((Path(__file__).parent / name).read_text())
    (robota.home / "node_modules").symlink_to(PACKAGES)
    env = {**clean_environment(robota.home), "PATH": os.environ["PATH"]}
    command = ["node", str(program), str(EXECUTABLE), str(robota.workspace)]
    done = subprocess.run(command, cwd=robota.workspace, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_callbacks_hooks_and_tools_of_a_program_work_over_two_prompts(robota: Robota) -> None:
    greet = {"name": "mcp--greeter--greet", "arguments": {"name": "Ada"}}
    write = call("write_to_file", path="a.txt", content="one\n")
    shell = call("execute_command", command="touch b.txt")
    script(robota, {"calls": [greet, write, shell]}, {"text": "One."}, {"text": "Two."})
    seen = run(robota, "program.mjs")
    assert seen["results"] == [["success", "One."], ["success", "Two."]], seen
    assert seen["asked"] == ["mcp__greeter__greet", "Write", "Bash"] and {"Write", "Bash"} <= set(seen["hooks"])
    assert {"system", "assistant", "user", "stream_event", "result"} <= set(seen["types"])
    assert seen["commands"] > 10 and seen["models"] == ["scripted"] and seen["servers"] == ["greeter connected"]
    # What was changed during the first turn holds from the second one on.
    assert any("has no setting for how much it thinks" in each for each in seen["told"])
    assert (robota.workspace / "a.txt").read_text() == "one\n" and not (robota.workspace / "b.txt").exists()


def test_each_feature_works_in_a_session_of_its_own(robota: Robota) -> None:
    """Agents, structured output, resuming, forking at a message, interrupts, checkpoints, tools, a session store."""
    review = call("agent", description="review", prompt="review it", subagent_type="reviewer")
    script(
        robota,
        {"task": "use the reviewer", "calls": [review]},
        {"task": "review it", "text": "Fine."},
        {"task": "use the reviewer", "text": "Reviewed."},
        {"task": "count the files", "text": '{"count": 5}'},
        {"task": "say one", "text": "One."},
        {"task": "sleep long", "calls": [call("execute_command", command="sleep 600")]},
        {"task": "sleep long", "text": "On."},
        {"task": "write one", "calls": [call("write_to_file", path="one.txt", content="1\n")]},
        {"task": "write one", "text": "Written."},
        otherwise={"text": "More."},
    )
    seen = run(robota, "features.mjs")
    assert "reviewer" in seen["agents"] and seen["callers"] == [False, True, False]
    assert seen["count"] == {"count": 5}
    assert seen["resumed"] and seen["forked"] is True
    assert seen["interrupted"] == ["error_during_execution", "success"]
    assert (seen["rewound"]["canRewind"], seen["rewound"]["filesChanged"]) == (True, ["one.txt"])
    assert seen["rewound"]["deletions"] == 1 and seen["kept"] == "1\n"
    assert seen["tools"] == ["Read", "Output"] and seen["stored"] is False
