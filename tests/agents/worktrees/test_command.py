"""`robota worktree list|remove`: what a session left, also one that was killed, and two that want the same place."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.agents.worktrees.repositories import (
    FREELY,
    branches,
    commanding,
    commit,
    git,
    names_of_worktrees,
    run_in_worktree,
    worktree,
)
from tests.cli.scripts import script
from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.harness.conversation import typed


@pytest.fixture
def robota(robota: Robota) -> Robota:
    commit(robota.workspace, a_txt="alpha\n")
    return robota


@contextmanager
def session_that_waits(robota: Robota, tmp_path: Path, *commands: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A session in the worktree `x`, in the middle of a command that ends when something is written to its pipe."""
    pipe, ready = tmp_path / "pipe", tmp_path / "ready"
    for path in (pipe, ready):
        subprocess.run(["mkfifo", str(path)], check=True)
    script(robota, *commanding(*commands, f"echo now > {ready}; read word < {pipe}"))
    process = subprocess.Popen(
        [EXECUTABLE, "-w", "x", *FREELY, "-p", "go"],
        cwd=robota.workspace,
        env=clean_environment(robota.home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # One that ends too early must not be waited for.
    threading.Thread(target=unblock_reader, args=(process, ready), daemon=True).start()
    try:
        assert ready.read_text() == "now\n"
        yield process
    finally:
        process.kill()
        process.wait()


def unblock_reader(process: "subprocess.Popen[bytes]", pipe: Path) -> None:
    process.wait()
    with suppress(OSError):
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))


def test_nothing_to_list(robota: Robota) -> None:
    assert robota("worktree", "list").stdout == "There are no worktrees of sessions here.\n"
    assert json.loads(robota("worktree", "list", "--json").stdout) == []
    assert not (robota.workspace / ".robota").exists()


def test_the_list_says_what_would_be_lost(robota: Robota) -> None:
    run_in_worktree(robota, "files", "touch one two")
    run_in_worktree(robota, "commits", "git commit -qm one --allow-empty && git commit -qm two --allow-empty")
    listed = {entry["name"]: entry for entry in json.loads(robota("worktree", "list", "--json").stdout)}
    assert {name: (entry["files"], entry["commits"], entry["inUse"]) for name, entry in listed.items()} == {
        "files": (2, 0, False),
        "commits": (0, 2, False),
    }
    text = robota("worktree", "list").stdout
    assert "2 changed or new files" in text and "2 commits that no other branch has" in text


def test_a_conversation_lists_and_removes_them_too(robota: Robota) -> None:
    run_in_worktree(robota, "x", "echo work > b.txt")
    assert "1 changed or new file" in robota("-p", "/worktree").stdout
    refused = typed(robota, "/worktree remove x")
    assert refused.code == 1 and "--force" in refused.stderr and (worktree(robota, "x") / "b.txt").exists()
    assert typed(robota, "/worktree remove x --force").code == 0
    assert names_of_worktrees(robota) == []


def test_removing_refuses_to_lose_files(robota: Robota) -> None:
    run_in_worktree(robota, "x", "echo work > b.txt")
    refused = robota("worktree", "remove", "x")
    assert refused.code == 1 and "1 changed or new file" in refused.stderr and "--force" in refused.stderr
    assert (worktree(robota, "x") / "b.txt").exists()
    assert robota("worktree", "remove", "x", "--force").code == 0
    assert names_of_worktrees(robota) == [] and branches(robota.workspace) == ["main"]


def test_removing_never_loses_commits(robota: Robota) -> None:
    run_in_worktree(robota, "x", "git commit -qm beta --allow-empty && touch untracked")
    done = robota("worktree", "remove", "x", "--force")
    assert done.code == 0 and "Its branch worktree-x was kept" in done.stdout, done.stderr
    assert git(robota.workspace, "log", "-1", "--format=%s", "worktree-x") == "beta"
    assert names_of_worktrees(robota) == []
    git(robota.workspace, "merge", "--quiet", "worktree-x")
    assert robota("worktree", "remove", "x").code == 0
    assert branches(robota.workspace) == ["main"]


def test_commits_on_no_branch_are_not_even_lost_by_force(robota: Robota) -> None:
    run_in_worktree(robota, "x", "git checkout -q --detach && git commit -qm loose --allow-empty")
    refused = robota("worktree", "remove", "x", "--force")
    assert refused.code == 1 and "they are on no branch" in refused.stderr
    git(worktree(robota, "x"), "branch", "rescued")
    assert robota("worktree", "remove", "x").code == 0
    assert branches(robota.workspace) == ["main", "rescued"]


def test_a_name_that_is_not_there(robota: Robota) -> None:
    run_in_worktree(robota, "x", "touch stay")
    refused = robota("worktree", "remove", "y")
    assert refused.code == 1 and "There is no worktree y" in refused.stderr and "Available: x." in refused.stderr


@pytest.mark.parametrize("name", ["../..", "-x", ".git"])
def test_a_name_that_leads_elsewhere(robota: Robota, name: str) -> None:
    refused = robota("worktree", "remove", "--force", "--", name)
    assert refused.code == 1 and "is not a valid worktree name" in refused.stderr
    assert (robota.workspace / "a.txt").exists()


def test_files_that_somebody_deleted_are_cleared_up(robota: Robota) -> None:
    run_in_worktree(robota, "x", "touch stay")
    subprocess.run(["rm", "-r", str(worktree(robota, "x"))], check=True)
    assert "its files are missing" in robota("worktree", "list").stdout
    assert robota("worktree", "remove", "x").code == 0
    assert branches(robota.workspace) == ["main"]
    assert "was removed" in run_in_worktree(robota, "x", "true").stderr


def test_what_is_no_worktree_is_removed_by_force_only(robota: Robota, tmp_path: Path) -> None:
    run_in_worktree(robota, "stay", "touch stay")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    worktree(robota, "x").symlink_to(outside)
    assert robota("worktree", "remove", "x").code == 1
    assert robota("worktree", "remove", "x", "--force").code == 0
    assert not worktree(robota, "x").is_symlink()
    assert (outside / "precious").exists()


def test_two_sessions_cannot_have_the_same_worktree(robota: Robota, tmp_path: Path) -> None:
    with session_that_waits(robota, tmp_path):
        second = robota("-w", "x", "-p", "go")
        assert second.code == 3 and "Another session is using the worktree x" in second.stderr
        assert json.loads(robota("worktree", "list", "--json").stdout)[0]["inUse"] is True
        refused = robota("worktree", "remove", "x", "--force")
        assert refused.code == 1 and "A session is using the worktree x" in refused.stderr


def test_sessions_with_other_names_do_not_disturb_one_another(robota: Robota, tmp_path: Path) -> None:
    with session_that_waits(robota, tmp_path):
        assert "was removed" in run_in_worktree(robota, "y", "true").stderr
        assert names_of_worktrees(robota) == ["x"]


def test_a_killed_session_leaves_its_worktree_to_be_found(robota: Robota, tmp_path: Path) -> None:
    with session_that_waits(robota, tmp_path, "echo work > b.txt") as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        (entry,) = json.loads(robota("worktree", "list", "--json").stdout)
        assert (entry["name"], entry["inUse"], entry["files"]) == ("x", False, 1)
    assert "continues in it" in run_in_worktree(robota, "x", "test -e b.txt && rm b.txt").stderr
    assert names_of_worktrees(robota) == []


def test_an_interrupted_session_keeps_what_it_did_and_tells(robota: Robota, tmp_path: Path) -> None:
    with session_that_waits(robota, tmp_path, "echo work > b.txt") as process:
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert (worktree(robota, "x") / "b.txt").read_text() == "work\n"
    (entry,) = json.loads(robota("worktree", "list", "--json").stdout)
    assert not entry["inUse"]
