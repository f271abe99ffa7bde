"""What `robota policy` says beforehand is what a session then does: the same calls, judged in both."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from robota.commands.policy.bench import PolicyBench, past_sessions
from robota.contracts.verdict import Verdict
from robota.policy.testing.replay import recorded_calls
from robota.protocol.permission_mode import PermissionMode
from tests.engine.stage import Stage, call
from tests.hooks.hooked import DONE, play_with_hooks

RULES = {
    "allow": ["Bash(touch *)", "Edit(/src/**)", "Bash(git log *)", "Read"],
    "ask": ["Bash(touch ask*)", "Edit(src/asked.txt)"],
    "deny": ["Bash(rm *)", "Read(private/**)", "Edit(*.lock)"],
}
PATHS = ["a.txt", "src/b.py", "src/asked.txt", "src/x.lock", ".env", ".git/config", "private/p", "link", "../out"]
PROGRAMS = ["cat", "touch", "rm", "wc -l", "head -n 1", "ls -l", "sort", "cp a.txt"]
COMMANDS = [
    *(f"{program} {path}" for program, path in itertools.product(PROGRAMS, PATHS) if path != ".git/config"),
    *(f"echo x > {path}" for path in PATHS),
    *(f"timeout 5 cat {path}" for path in PATHS),
    *(f"cd src && cat ../{path}" for path in PATHS),
    *("git log", "git log --output=x", "git status", "cat *", "cat src/*", "echo $HOME", "ls | wc", "touch ask1"),
    *("sudo ls", "cat 'a.txt'", "grep x src/*", "diff a.txt a.txt", "diff src src", "touch {a,b}"),
    *("sh -c 'cat private/p'", "cd src; ls ..", "ls src | sort"),
]
FILES = ["read_file", "write_to_file", "list_files"]
MODES = ["default", "acceptEdits", "plan"]


def all_calls() -> list[dict[str, Any]]:
    files = [
        call(tool, path=path, **({"content": f"{number}\n"} if tool == "write_to_file" else {}))
        for number, (tool, path) in enumerate(itertools.product(FILES, PATHS))
    ]
    return [*files, *(call("execute_command", command=command) for command in COMMANDS)]


@pytest.fixture
def prepared(workspace: Path) -> Path:
    for name in ("src/b.py", "src/x.lock", "private/p", "a.txt", ".env"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("x\n")
    (workspace / "link").symlink_to(workspace.parent)
    return workspace


@pytest.mark.parametrize("mode", MODES)
def test_explain_agrees_with_a_session(prepared: Path, mode: str) -> None:
    home, calls, said = str(prepared.parent / "robota-home"), all_calls(), list[Verdict]()
    env = {"ROBOTA_HOME": home, "HOME": home}

    async def story(stage: Stage) -> None:
        bench = PolicyBench.open(prepared, env, None)
        said.extend(bench.judge(each["name"], each["arguments"], PermissionMode(mode)) for each in calls)
        await stage.start()
        await stage.until_ask("completion_result")

    turns = [{"calls": calls}, DONE]
    # Without a sandbox, so that the answer is the same however busy or poor the machine is.
    settings = {"permissions": RULES, "sandbox": {"enabled": False}}
    play_with_hooks(prepared, {}, turns, story, settings=settings, attended=False, permission_mode=mode)
    [(session, records)] = past_sessions(prepared, env)
    recorded = recorded_calls(session, records)
    assert [(one.input, one.decision) for one in recorded] == [
        (each["arguments"], verdict.decision) for each, verdict in zip(calls, said, strict=True)
    ]
    assert {verdict.decision for verdict in said} >= {"deny", "allow"}
