"""How many questions ten typical tasks cost a person who says yes to everything and keeps no rule.

The tasks are played by the scripted model through the real engine, policy and sandbox; only the words of the model are
made up. A question is an ask that somebody has to approve before a call runs.
"""

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench
from benchmarks.measurement import Measurement
from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.engine.session.session import Session
from robota.protocol.commands import AskResponse, NewTask
from robota.protocol.events import MessageCreated
from robota.protocol.permission_mode import PermissionMode

Calls = Sequence[tuple[str, dict[str, Any]]]

TARGET = 25
APPROVALS = frozenset({"command", "tool", "use_mcp_server", "browser_action_launch"})
CODE = "def add(a, b):\n    return a - b\n"
TEST = "from code_under_test import add\nassert add(1, 2) == 3, add(1, 2)\n"


def run(command: str) -> tuple[str, dict[str, Any]]:
    return "execute_command", {"command": command}


def read(path: str) -> tuple[str, dict[str, Any]]:
    return "read_file", {"path": path}


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, Any]]:
    return "edit_file", {"path": path, "old_string": old, "new_string": new}


def fetch(address: str) -> tuple[str, dict[str, Any]]:
    return "web_fetch", {"url": address}


def background(**arguments: Any) -> tuple[str, dict[str, Any]]:
    return "background_process", arguments


TASKS: dict[str, Calls] = {
    "fix a test": [
        run("python3 test_code.py"),
        read("test_code.py"),
        read("code_under_test.py"),
        edit("code_under_test.py", "a - b", "a + b"),
        run("python3 test_code.py"),
    ],
    "add a dependency": [
        read("requirements.txt"),
        edit("requirements.txt", "one==1.0\n", "one==1.0\ntwo==2.0\n"),
        run("curl --silent --show-error --max-time 5 https://packages.example.com/two"),
    ],
    "commit": [run("git status"), run("git diff"), run("git add -A && git commit -m 'Say more'")],
    "run a dev server": [
        background(action="start", command="python3 -u -m http.server 8123 --bind 127.0.0.1", wait=5),
        run("curl --silent --max-time 5 http://127.0.0.1:8123/requirements.txt"),
        background(action="stop", id="bg1"),
    ],
    "review a diff": [
        run("git log --oneline -5"),
        run("git diff HEAD~1"),
        run("git show --stat HEAD"),
        read("README.md"),
    ],
    "rename across files": [
        ("search_files", {"path": ".", "regex": r"\badd\b"}),
        read("code_under_test.py"),
        edit("code_under_test.py", "def add", "def plus"),
        read("test_code.py"),
        edit("test_code.py", "import add\nassert add(1, 2) == 3, add(1, 2)", "import plus\nassert plus(1, 2) == 3"),
        run("git diff"),
    ],
    "read docs on the web": [fetch("https://docs.example.com/intro"), fetch("https://docs.example.com/more")],
    "run a linter": [
        run("python3 -m compileall -q ."),
        edit("code_under_test.py", "a - b", "a + b"),
        run("python3 -m compileall -q ."),
    ],
    "bisect": [
        run("git bisect start HEAD HEAD~2"),
        run("git bisect run python3 test_code.py"),
        run("git bisect reset"),
    ],
    "clean up": [run("git status --short"), run("rm -r build"), run("git branch -D old"), run("git status --short")],
}


def questions(bench: Bench) -> list[Measurement]:
    """In the mode that asks about everything, and in the one that lets files be edited; no rule is ever kept."""
    default = {name: asked(calls, PermissionMode.DEFAULT) for name, calls in TASKS.items()}
    editing = [asked(calls, PermissionMode.ACCEPT_EDITS) for calls in TASKS.values()]
    detail = ", ".join(f"{name} {count}" for name, count in default.items())
    return [
        Measurement(
            name="questions in ten typical tasks",
            value=sum(default.values()),
            target=TARGET,
            unit="",
            detail=f"{detail}; in acceptEdits {sum(editing)}",
        )
    ]


def asked(calls: Calls, mode: PermissionMode) -> int:
    """How many approvals the calls take, one after another, in a workspace of their own."""
    with tempfile.TemporaryDirectory(prefix="robota-questions-", dir="/var/tmp") as name:
        workspace = Path(name, "workspace")
        fill(workspace)
        return asyncio.run(played(workspace, calls, mode))


async def played(workspace: Path, calls: Calls, mode: PermissionMode) -> int:
    turns: list[Any] = [{"calls": [{"name": tool, "arguments": arguments}]} for tool, arguments in calls]
    options = {"turns": [*turns, {"text": "Done."}]}
    profile = Profile(type="scripted", name="script", model="scripted", options=options)
    home = {"ROBOTA_HOME": str(workspace.parent / "home"), "PATH": os.defpath}
    opened = open_session(LaunchOptions(cwd=workspace, profile=profile, permission_mode=mode), home)
    try:
        return await answered(opened.session)
    finally:
        await opened.close()


async def answered(session: Session) -> int:
    """Say yes until the task is done."""
    count, events = 0, session.events()
    await session.submit(NewTask(text="Go."))
    async for event in events:
        if not isinstance(event, MessageCreated) or event.message.ask is None:
            continue
        if event.message.ask not in APPROVALS:
            break
        count += 1
        await session.submit(AskResponse(ask_response="yesButtonClicked", ts=event.message.ts))
    return count


def fill(workspace: Path) -> None:
    """A small repository with three commits, a test that fails, and something to clean up."""
    (workspace / "build").mkdir(parents=True)
    for name, text in {
        "README.md": "A project.\n",
        "requirements.txt": "one==1.0\n",
        "code_under_test.py": CODE,
        "test_code.py": TEST,
        ".gitignore": "build\n__pycache__\n",
        "build/out": "",
    }.items():
        (workspace / name).write_text(text)
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "config", "user.name", "Somebody")
    git(workspace, "config", "user.email", "somebody@example.com")
    git(workspace, "add", ".")
    for message in ("one", "two", "three"):
        (workspace / "README.md").write_text(f"A project, {message}.\n")
        git(workspace, "commit", "-qam", message)
    git(workspace, "branch", "old")
    (workspace / "README.md").write_text("A project that says more.\n")


def git(workspace: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=workspace, check=True, capture_output=True)
