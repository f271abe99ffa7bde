"""What an agent changed in its worktree is brought in as one change, which the user approves."""

from pathlib import Path
from typing import Any

import pytest

from robota.protocol.asks.answer import Approve, ApproveHunks, Reject
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.commands import AskResponse
from robota.protocol.message import Message
from tests.cli.scripts import script, trust
from tests.commands.test_agent_command import Typed, converse
from tests.engine.stage import call
from tests.engine.task.agents.test_process_agents import git
from tests.harness.cli import Robota

LINES = "".join(f"line {number}\n" for number in range(40))
DONE = {"text": "The parent is done."}


@pytest.fixture
def repository(workspace: Path) -> Path:
    (workspace / "long.txt").write_text(LINES)
    (workspace / "old.txt").write_text("old\n")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "first")
    return workspace


def changes(**files: str) -> list[dict[str, Any]]:
    """A parent that lets an agent write these files in a worktree."""
    writes = [call("write_to_file", path=name.replace("_", "."), content=text) for name, text in files.items()]
    reads = [call("read_file", path=name.replace("_", ".")) for name in files if name != "new_txt"]
    return [
        {"calls": [call("agent", description="d", prompt="change it", isolation="worktree")]},
        {"task": "change it", "calls": [*reads, call("list_files", path=".")]},
        {"task": "change it", "calls": writes},
        {"task": "change it", "text": "Changed."},
        DONE,
    ]


async def merged(typed: Typed, line: str, answer: Approve | ApproveHunks | Reject) -> tuple[str, Message]:
    """What the command says, and what it asked."""
    import asyncio

    said = asyncio.ensure_future(typed.text(line))
    ask = await typed.stage.until_ask("tool")
    await typed.stage.submit(AskResponse(answer=answer, ts=ask.ts))
    return await said, ask


def test_several_files_come_in_as_one_call_that_is_approved(repository: Path) -> None:
    """What has changed here meanwhile stays, and what has changed in the same lines is left out and named."""

    async def story(typed: Typed) -> None:
        await typed.stage.start()
        await typed.stage.until_ask("completion_result")
        (repository / "long.txt").write_text(LINES.replace("line 3\n", "mine\n"))
        (repository / "old.txt").write_text("mine\n")
        text, ask = await merged(typed, "/agent merge 1", Approve())
        assert text == (
            "Brought in: long.txt, new.txt. Not brought in: old.txt: it was changed here as well, in the same lines."
        )
        assert isinstance(ask.asked, ApprovalAsk) and ask.asked.title == "Patch long.txt, new.txt"
        assert (repository / "long.txt").read_text() == LINES.replace("line 3\n", "mine\n").replace(
            "line 30\n", "its\n"
        )
        assert (repository / "new.txt").read_text() == "new\n" and (repository / "old.txt").read_text() == "mine\n"
        assert await typed.text("/agent merge 1") == (
            "There is nothing to bring in. Not brought in: old.txt: it was changed here as well, in the same lines."
        )

    files = {"long_txt": LINES.replace("line 30\n", "its\n"), "new_txt": "new\n", "old_txt": "its\n"}
    converse(repository, changes(**files), story, allowed_tools=("Write",))


def test_a_single_file_can_be_brought_in_by_hunks(repository: Path) -> None:
    async def story(typed: Typed) -> None:
        await typed.stage.start()
        await typed.stage.until_ask("completion_result")
        _, ask = await merged(typed, "/agent merge agent_1 long.txt", ApproveHunks(hunks=(1,)))
        assert isinstance(ask.asked, ApprovalAsk) and ask.asked.choosable_hunks == 2
        assert (repository / "long.txt").read_text() == LINES.replace("line 30\n", "its\n")

    both = LINES.replace("line 30\n", "its\n").replace("line 5\n", "its too\n")
    converse(repository, changes(long_txt=both, old_txt="its\n"), story, allowed_tools=("Write",))


def test_nothing_changes_if_the_user_says_no(repository: Path) -> None:
    async def story(typed: Typed) -> None:
        await typed.stage.start()
        await typed.stage.until_ask("completion_result")
        text, _ = await merged(typed, "/agent merge 1", Reject())
        assert text.startswith("Nothing was changed:")
        assert (repository / "old.txt").read_text() == "old\n"

    converse(repository, changes(old_txt="its\n"), story, allowed_tools=("Write",))


def test_it_is_brought_in_from_a_shell_after_the_session_has_ended(robota: Robota) -> None:
    (robota.workspace / "old.txt").write_text("old\n")
    git(robota.workspace, "add", "-A")
    git(robota.workspace, "commit", "-qm", "first")
    trust(robota)
    script(robota, *changes(old_txt="its\n"))
    assert robota("-p", "go", "--permission-mode", "acceptEdits").code == 0
    assert (robota.workspace / "old.txt").read_text() == "old\n"
    unknown = robota("agents", "merge", "agent_9", "--yes")
    assert unknown.code == 1 and "is no agent with a worktree" in unknown.stderr
    asked = robota("agents", "merge", "agent_1")
    assert asked.code == 1 and "--yes" in asked.stdout + asked.stderr
    done = robota("agents", "merge", "agent_1", "--yes")
    assert (done.code, done.stdout) == (0, "Brought in: old.txt.\n")
    assert (robota.workspace / "old.txt").read_text() == "its\n"
