"""How many questions ten typical tasks cost the user.

The tasks are played by the scripted model through the real engine, policy and sandbox; only the words of the model are
made up. A question is an ask that somebody has to approve before a call runs. The user says yes to everything: first
without ever keeping a rule, then keeping for all tasks, as in one project, the widest rules that each card offers.
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
from robota.protocol.events import MessageCreated, MessageUpdated
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode

Calls = Sequence[tuple[str, dict[str, Any]]]

TARGET = 22
TARGET_WITH_RULES = 12
TARGET_CONFINED = 3
APPROVALS = frozenset({"command", "tool", "use_mcp_server", "browser_action_launch"})
GOOD, BAD = "def add(a, b):\n    return a + b\n", "def add(a, b):\n    return a - b\n"
TEST = "from code_under_test import add\nassert add(1, 2) == 3, add(1, 2)\n"
COMMITS = {"one": GOOD, "two": GOOD, "three": BAD, "four": BAD, "five": BAD}
BISECT = "bisect"
BISECTED = "is the first bad commit"


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
    BISECT: [
        run("git bisect start HEAD HEAD~4"),
        run("git bisect run python3 test_code.py"),
        run("git bisect reset"),
    ],
    "clean up": [run("git status --short"), run("rm -r build"), run("git branch -D old"), run("git status --short")],
}


def questions(bench: Bench) -> list[Measurement]:
    """In the mode that asks about everything, without and with rules, and in the one that trusts the sandbox."""
    plain = played_all(PermissionMode.DEFAULT, keeps_rules=False)
    with_rules = played_all(PermissionMode.DEFAULT, keeps_rules=True)
    confined = played_all(PermissionMode.CONFINED, keeps_rules=True)
    return [
        counted("questions in ten typical tasks", plain, TARGET),
        counted("questions with the offered rules accepted", with_rules, TARGET_WITH_RULES),
        counted("questions in confined mode, rules accepted", confined, TARGET_CONFINED),
    ]


def counted(name: str, counts: dict[str, int], target: float) -> Measurement:
    detail = ", ".join(f"{task} {count}" for task, count in counts.items())
    return Measurement(name=name, value=sum(counts.values()), target=target, unit="", detail=detail)


def played_all(mode: PermissionMode, *, keeps_rules: bool) -> dict[str, int]:
    """How many approvals each task takes, in a workspace of its own; accepted rules hold for those that follow."""
    rules: list[str] | None = [] if keeps_rules else None
    counts = {}
    for name, calls in TASKS.items():
        with tempfile.TemporaryDirectory(prefix="robota-questions-", dir="/var/tmp") as directory:
            workspace = Path(directory, "workspace")
            fill(workspace, is_clean=name == BISECT)
            counts[name] = asyncio.run(played(workspace, calls, mode, rules, BISECTED if name == BISECT else ""))
    return counts


async def played(workspace: Path, calls: Calls, mode: PermissionMode, rules: list[str] | None, result: str) -> int:
    turns: list[Any] = [{"calls": [{"name": tool, "arguments": arguments}]} for tool, arguments in calls]
    options = {"turns": [*turns, {"text": "Done."}]}
    profile = Profile(type="scripted", name="script", model="scripted", options=options)
    home = {"ROBOTA_HOME": str(workspace.parent / "home"), "PATH": os.defpath}
    launch = LaunchOptions(
        cwd=workspace, profile=profile, permission_mode=mode, allowed_tools=() if rules is None else tuple(rules)
    )
    opened = open_session(launch, home)
    try:
        return await answered(opened.session, rules, result)
    finally:
        await opened.close()


async def answered(session: Session, rules: list[str] | None, result: str) -> int:
    """Say yes until the task is done; raises if `result` was never printed, because then it was not really done."""
    count, events, is_done = 0, session.events(), not result
    await session.submit(NewTask(text="Go."))
    async for event in events:
        if not isinstance(event, MessageCreated | MessageUpdated):
            continue
        is_done = is_done or result in (event.message.text or "")
        if isinstance(event, MessageUpdated) or event.message.ask in (None, "command_output"):
            continue
        if event.message.ask not in APPROVALS:
            break
        count += 1
        granted = () if rules is None else widest_rules(event.message)
        if rules is not None:
            rules += granted
        await session.submit(AskResponse(ask_response="yesButtonClicked", ts=event.message.ts, grant=granted))
    if not is_done:
        raise AssertionError(f"nothing was printed that has {result!r}")
    return count


def widest_rules(asked: Message) -> tuple[str, ...]:
    """The last of the offered sets of rules."""
    suggestions = asked.verdict.suggestions if asked.verdict is not None else ()
    return suggestions[-1].rules if suggestions else ()


def fill(workspace: Path, *, is_clean: bool) -> None:
    """A small repository with a test that fails since one of its commits, and something to clean up."""
    (workspace / "build").mkdir(parents=True)
    for name, text in {
        "requirements.txt": "one==1.0\n",
        "test_code.py": TEST,
        ".gitignore": "build\n__pycache__\n",
        "build/out": "",
    }.items():
        (workspace / name).write_text(text)
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "config", "user.name", "Somebody")
    git(workspace, "config", "user.email", "somebody@example.com")
    for message, code in COMMITS.items():
        (workspace / "code_under_test.py").write_text(code)
        (workspace / "README.md").write_text(f"A project, {message}.\n")
        git(workspace, "add", ".")
        git(workspace, "commit", "-qm", message)
    git(workspace, "branch", "old")
    if not is_clean:
        (workspace / "README.md").write_text("A project that says more.\n")


def git(workspace: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=workspace, check=True, capture_output=True)
