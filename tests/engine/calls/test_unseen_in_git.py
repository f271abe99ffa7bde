"""Commands that nobody approves put nothing into git's data, out of sight, that other programs obey."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from robota.log.kinds.rewinds import RefMovesRecord
from robota.protocol.events import MessageCreated, Notice
from robota.protocol.message import Message
from tests.engine.calls.test_confined import confined, git, run, to_the_end
from tests.engine.calls.test_reviewing import records
from tests.engine.stage import Stage, needs_answer, tool_results

DONE = {"text": "done"}
WORKFLOW = ".github/workflows/ci.yml"
EVIL = "on: push\n"
pytestmark = pytest.mark.usefixtures("bubblewrap")


@pytest.fixture
def repository(workspace: Path) -> Path:
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "config", "user.name", "me")
    git(workspace, "config", "user.email", "me@example.org")
    (workspace / "a.txt").write_text("x\n")
    commit(workspace)
    return workspace


def commit(repository: Path) -> str:
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "kept")
    return git(repository, "rev-parse", "HEAD")


def blob(repository: Path) -> str:
    """The name of the object of the evil file, which is not made."""
    command = ["git", "hash-object", "--stdin"]
    return subprocess.run(
        command, input=EVIL, cwd=repository, check=True, capture_output=True, text=True
    ).stdout.strip()


async def next_ask(stage: Stage) -> Message:
    event = await stage.until(needs_answer)
    assert isinstance(event, MessageCreated)
    return event.message


def obeyed_in(repository: Path, name: str) -> str:
    return git(repository, "ls-tree", "-r", "--name-only", name, ".github")


# None of these commands names what it makes.
PLANTING = {
    "in the index": "git hash-object -w b.txt && git update-index --index-info < i.txt",
    "in a commit": "git hash-object -w b.txt && git update-index --index-info < i.txt && git commit -qm typo",
    "in a commit, with the index as it was": (
        "git hash-object -w b.txt && git update-index --index-info < i.txt && git commit -qm typo && "
        "git read-tree HEAD~1"
    ),
    "in a branch": (
        "git hash-object -w b.txt && git update-index --index-info < i.txt && git commit -qm typo && git branch other "
        "&& git reset -q --hard HEAD~1"
    ),
    "in a tag": (
        "git hash-object -w b.txt && git update-index --index-info < i.txt && git commit -qm typo && "
        "git tag -a -m x v1 && git reset -q --hard HEAD~1"
    ),
}


@pytest.mark.parametrize("how", PLANTING)
def test_what_is_in_gits_data_alone_is_taken_back(repository: Path, how: str) -> None:
    (repository / "b.txt").write_text(EVIL)
    (repository / "i.txt").write_text(f"100644 {blob(repository)} 0\t{WORKFLOW}\n")
    before = git(repository, "for-each-ref")

    async def story(stage: Stage) -> None:
        await to_the_end(stage)
        assert any(WORKFLOW in each.text for each in stage.events_of(Notice))
        assert WORKFLOW in str(tool_results(stage)[0].content)

    confined(repository, [run(PLANTING[how]), DONE], story)
    assert git(repository, "for-each-ref") == before
    assert git(repository, "ls-files", ".github") == ""
    assert git(repository, "status", "--short").splitlines() == ["?? b.txt", "?? i.txt"]


def test_moving_back_counts_as_a_move_of_the_command(repository: Path) -> None:
    """So that undoing the command finds the branch where it left it."""
    (repository / "b.txt").write_text(EVIL)
    (repository / "i.txt").write_text(f"100644 {blob(repository)} 0\t{WORKFLOW}\n")

    async def story(stage: Stage) -> None:
        await to_the_end(stage)
        there, back = records(stage, RefMovesRecord)
        assert [(each.name, each.before, each.after) for each in there.moves] == [
            (each.name, each.after, each.before) for each in back.moves
        ]

    confined(repository, [run(PLANTING["in a commit"]), DONE], story)


@pytest.mark.parametrize("answer", ["yesButtonClicked", "noButtonClicked"])
def test_a_commit_of_what_the_user_decides_about_waits_for_that(repository: Path, answer: str) -> None:
    patch = f"--- /dev/null\n+++ b/{WORKFLOW}\n@@ -0,0 +1 @@\n+{EVIL}"
    (repository / "p.txt").write_text(patch)

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer(answer)
        await stage.until_ask("completion_result")
        assert obeyed_in(repository, "HEAD") == ""
        assert (repository / WORKFLOW).exists() is (answer == "yesButtonClicked")

    confined(repository, [run("git apply --index p.txt && git commit -qm typo"), DONE], story)


ORDINARY: tuple[str, ...] = (
    "git add -A && git commit -qm work",
    "git commit -qam work && git tag v1 && git branch topic",
    "git stash && git stash pop",
    "git switch -q other && git switch -q main",
    "git reset -q --soft HEAD~1 && git commit -qm again",
)


@pytest.mark.parametrize("command", ORDINARY)
def test_what_is_in_the_files_like_that_may_be_committed(repository: Path, command: str) -> None:
    """The user has changed a workflow, and another branch has one of its own."""
    workflow = repository / WORKFLOW
    git(repository, "switch", "-q", "-c", "other")
    git(repository, "switch", "-q", "main")
    workflow.parent.mkdir(parents=True)
    workflow.write_text("on: pull_request\n")
    commit(repository)
    if "switch" not in command:
        workflow.write_text("on: release\n")
        (repository / "a.txt").write_text("y\n")
    told: list[Any] = []

    async def story(stage: Stage) -> None:
        await stage.start()
        while (await next_ask(stage)).ask == "tool":
            await stage.answer("yesButtonClicked")
        told.extend(each.text for each in stage.events_of(Notice) if "taken back" in each.text)

    confined(repository, [run(command), DONE], story)
    assert told == []
    assert git(repository, "rev-list", "--count", "HEAD") == ("3" if "qm work" in command or "qam" in command else "2")
