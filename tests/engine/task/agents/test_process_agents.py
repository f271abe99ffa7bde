"""Agents in processes of their own: whoever starts them cannot tell them from others."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from robota.log.chain.reader import load
from robota.log.replay.session import replay
from robota.protocol.asks.answer import Approve, Reject
from robota.protocol.calls import BackgroundStatus
from robota.protocol.commands import AskResponse, SetPermissionMode
from robota.protocol.conversation import TextBlock
from robota.protocol.events import BackgroundTasks, MessageCreated
from robota.protocol.permission_mode import PermissionMode
from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "The parent is done."}
OWN_PROCESSES = {"agents": {"ownProcesses": True}}


def start(prompt: str, **more: object) -> dict[str, Any]:
    return call("agent", description="look", prompt=prompt, **more)


def git(where: Path, *words: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    return subprocess.run(["git", *identity, *words], cwd=where, check=True, capture_output=True, text=True).stdout


def test_its_report_comes_back_and_its_process_has_gone(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert '<agent_report id="agent_1">\nFound it.\n</agent_report>' in tool_results(stage)[0].content
        pids = {task.pid for event in stage.events_of(BackgroundTasks) for task in event.tasks if task.pid is not None}
        assert len(pids) == 1
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)

    turns = [{"calls": [start("look for it")]}, {"task": "look for it", "text": "Found it."}, DONE]
    play(workspace, turns, story, settings=OWN_PROCESSES)


def test_it_asks_in_the_session_of_its_parent(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("tool")
        assert ask.asked is not None and "general-purpose agent_1: " in str(ask.asked)
        await stage.submit(AskResponse(answer=Approve(), ts=ask.ts))
        ask = await stage.until_ask("tool")
        await stage.submit(AskResponse(answer=Reject(text="not this one"), ts=ask.ts))
        await stage.until_ask("completion_result")
        assert (workspace / "a").read_text() == "x" and not (workspace / "b").exists()
        assert "Only a." in tool_results(stage)[0].content

    turns = [
        {"calls": [start("write it")]},
        {"task": "write it", "calls": [call("write_to_file", path="a", content="x")]},
        {"task": "write it", "calls": [call("write_to_file", path="b", content="x")]},
        {"task": "write it", "text": "Only a.", "expect": {"result": "not this one"}},
        DONE,
    ]
    play(workspace, turns, story, settings=OWN_PROCESSES)


@pytest.fixture
def repository(workspace: Path) -> Path:
    """A repository with a commit, a change that is not committed, a file that git does not know, and one it ignores."""
    (workspace / ".gitignore").write_text("secret\n")
    (workspace / "kept.txt").write_text("one\ntwo\nthree\n")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "first")
    (workspace / "kept.txt").write_text("one\n2\nthree\n")
    (workspace / "new.txt").write_text("untracked\n")
    (workspace / "secret").write_text("ignored\n")
    return workspace


def worktrees(repository: Path) -> list[str]:
    listed = git(repository, "worktree", "list", "--porcelain").splitlines()
    return [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")][1:]


def test_one_that_changes_nothing_in_its_worktree_leaves_none(repository: Path) -> None:
    """It sees the files as they are here, uncommitted and untracked ones included."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        report = tool_results(stage)[0].content
        assert "Both are here." in report and "which was removed" in report
        assert worktrees(repository) == [] and "worktree-" not in git(repository, "branch")
        assert git(repository, "status", "--porcelain") == " M kept.txt\n?? new.txt\n"

    turns = [
        {"calls": [start("look at them", isolation="worktree")]},
        {"task": "look at them", "calls": [call("read_file", path="kept.txt"), call("read_file", path="new.txt")]},
        {
            "task": "look at them",
            "text": "Both are here.",
            "expect": {"result": "2 | 2\n3 | three\nFile: new.txt\n1 | untracked"},
        },
        DONE,
    ]
    play(repository, turns, story)


def test_one_that_changes_something_leaves_its_worktree_and_the_files_here_as_they_were(repository: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        report = tool_results(stage)[0].content
        [path] = worktrees(repository)
        assert f"was kept, because it has changes: {path}, branch worktree-agent_1-" in report
        assert (Path(path) / "kept.txt").read_text() == "one\n2\n3\n"
        assert (repository / "kept.txt").read_text() == "one\n2\nthree\n"
        shown = [task for event in stage.events_of(BackgroundTasks) for task in event.tasks][-1]
        assert (shown.worktree_path, shown.status) == (path, BackgroundStatus.RUNNING)

    edit = call("write_to_file", path="kept.txt", content="one\n2\n3\n")
    turns = [
        {"calls": [start("change it", isolation="worktree")]},
        {"task": "change it", "calls": [call("read_file", path="kept.txt")]},
        {"task": "change it", "calls": [edit]},
        {"task": "change it", "text": "Changed."},
        DONE,
    ]
    play(repository, turns, story, permission_mode="acceptEdits")


def test_another_message_goes_on_in_the_same_worktree_and_conversation(repository: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert all("Written." in result.content for result in tool_results(stage)[::2])
        [path] = worktrees(repository)
        assert (Path(path) / "a").read_text() == "x"
        [log] = (repository / ".robota" / "sessions").glob("*.agent_1/log.jsonl")
        task = replay(load(log).records).root
        assert task is not None
        told = [
            block.text for turn in task.conversation().turns for block in turn.content if isinstance(block, TextBlock)
        ]
        assert told == ["change it", "Written.", "and again", "Written."]

    turns = [
        {"calls": [start("change it", isolation="worktree")]},
        {"task": "change it", "calls": [call("write_to_file", path="a", content="x")]},
        {"task": "change it", "text": "Written."},
        {"calls": [call("agent_send", to="agent_1", message="and again")]},
        {"calls": [call("agent_wait", ids=["agent_1"])]},
        DONE,
    ]
    play(repository, turns, story, permission_mode="acceptEdits")


def test_one_in_a_worktree_reaches_neither_the_files_here_nor_what_decides_about_it(repository: Path) -> None:
    """Nobody is there to allow it, so all of it is refused, in its worktree as well."""
    aims = [
        "../../../escaped.txt",
        str(repository / "kept.txt"),
        str(repository / "new-file.txt"),
        ".robota/settings.json",
        ".robota/agents/evil.md",
        ".claude/agents/evil.md",
        ".git",
    ]

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until(lambda event: isinstance(event, MessageCreated) and event.message.ask == "completion_result")
        assert "All refused." in tool_results(stage)[0].content and worktrees(repository) == []
        assert git(repository, "status", "--porcelain") == " M kept.txt\n?? new.txt\n"
        assert (repository / "kept.txt").read_text() == "one\n2\nthree\n"

    turns = [
        {"calls": [start("break out", isolation="worktree")]},
        *({"task": "break out", "calls": [call("write_to_file", path=aim, content="{}")]} for aim in aims),
        {"task": "break out", "text": "All refused."},
        DONE,
    ]
    play(repository, turns, story, permission_mode="acceptEdits", attended=False)


def test_a_mode_that_the_user_narrows_holds_in_the_process_at_once(repository: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("tool")
        await stage.submit(SetPermissionMode(permission_mode=PermissionMode.PLAN))
        await stage.submit(AskResponse(answer=Approve(), ts=ask.ts))
        await stage.until_ask("completion_result")
        assert not (repository / "b").exists()

    turns = [
        {"calls": [start("write both")]},
        {"task": "write both", "calls": [call("write_to_file", path="a", content="x")]},
        {"task": "write both", "calls": [call("write_to_file", path="b", content="x")]},
        {"task": "write both", "text": "Done.", "expect": {"error": True}},
        DONE,
    ]
    play(repository, turns, story, settings=OWN_PROCESSES)
