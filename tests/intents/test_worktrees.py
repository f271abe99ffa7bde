"""Worktrees and subdirectories of a guarded repository: guarded too, and their leases are known to one another."""

import subprocess
from pathlib import Path

from robota.app.intents import IntentDirectories, intent_directories
from robota.intents.leases import repository_leases
from tests.engine.stage import call
from tests.intents.project import SELECT, intents, results, told, traced, write
from tests.intents.test_leases import owning


def git(workspace: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=workspace, check=True)


def worktree(workspace: Path) -> Path:
    (workspace / "README.md").write_text("x\n")
    git(workspace, "add", "README.md")
    git(workspace, "commit", "-qm", "one")
    git(workspace, "worktree", "add", "-q", str(workspace.parent / "beside"))
    return workspace.parent / "beside"


def test_intents_that_are_not_committed_guard_the_worktrees_too(workspace: Path) -> None:
    beside = worktree(workspace)
    assert intent_directories(beside) is None
    intents(workspace)
    assert intent_directories(beside) == IntentDirectories(home=workspace.resolve(), top=beside)
    refused, _, outside = results(beside, write("src/auth/a.py"), SELECT, write("README.md"))
    assert told(refused)["code"] == "HOOK-INT-001" and told(outside)["code"] == "REQ-001"
    results(beside, SELECT, write("src/auth/a.py"))
    assert (beside / "src/auth/a.py").exists()
    assert "src/auth/a.py" in (workspace / ".orchestration/agent_trace.jsonl").read_text()


def test_a_file_of_git_that_points_elsewhere_brings_no_intents(workspace: Path, tmp_path: Path) -> None:
    intents(workspace)
    fake = tmp_path / "fake"
    fake.mkdir()
    (fake / ".git").write_text(f"gitdir: {workspace}/.git\n")
    assert intent_directories(fake) is None


def test_another_worktree_is_told_and_kept_from_nothing(workspace: Path, tmp_path: Path) -> None:
    beside = worktree(workspace)
    here, there = repository_leases(workspace, "one", tmp_path), repository_leases(beside, "two", tmp_path)
    here.take(owning("src/**"))
    [lease] = there.overlapping(owning("src/a/**"))
    assert lease.session_id == "one" and not there.is_in_the_way(lease)
    there.take(owning("src/a/**"))
    assert there.holder("src/a/x.py") is None


def test_a_session_in_a_subdirectory_is_guarded_by_the_intents_of_the_repository(workspace: Path) -> None:
    """Patterns and records start from the top of the repository, wherever in it a session works."""
    intents(workspace)
    below = workspace / "src"
    (below / "auth").mkdir(parents=True)
    (below / "kept.py").write_text("kept")
    early, context, _, outside, _, deleted, above = results(
        below,
        write("auth/a.py"),
        SELECT,
        write("auth/a.py"),
        write("b.py"),
        call("execute_command", command="touch auth/b.py"),
        call("execute_command", command="rm kept.py"),
        call("execute_command", command="touch ../docs.md"),
    )
    assert told(early)["code"] == "HOOK-INT-001" and "You work in src/" in context
    assert [told(each)["code"] for each in (outside, deleted, above)] == ["REQ-001"] * 3
    assert (below / "kept.py").exists() and not (below / "b.py").exists() and not (workspace / "docs.md").exists()
    assert [record["files"][0]["path"] for record in traced(workspace)] == ["src/auth/a.py", "src/auth/b.py"]


def test_intents_above_the_repository_do_not_count(workspace: Path, tmp_path: Path) -> None:
    intents(workspace.parent)
    alone = tmp_path / "alone"
    alone.mkdir()
    assert intent_directories(workspace) is None and intent_directories(alone.resolve()) is None
