"""`kill -9` in the middle of something: no process stays, the log is sound, and the next session works."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agents.worktrees.repositories import branches, commit, names_of_worktrees, run_in_worktree, worktree
from tests.cli.scripts import call, script, sessions, write_settings
from tests.extensions.mcp.setup import WRITE_NOTE, PlainServer
from tests.fakellm.server import running
from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.harness.programs import needs
from tests.workspace.process.commanding import Witness

pytestmark = needs("setsid")

FREELY = ("--permission-mode", "bypassPermissions")
HELD = "(setsid sh -c 'exec 9> witness; echo up > up; exec sleep 1000' &) ; sleep 1000"
BASH = {"calls": [call("execute_command", command="true")]}


@pytest.fixture
def witness(robota: Robota) -> Witness:
    os.mkfifo(robota.workspace / "up")
    return Witness(robota.workspace)


@contextmanager
def killed(robota: Robota, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[None]:
    """A session that is killed as soon as what happens in the context has happened."""
    command = [str(EXECUTABLE), "-p", "go", *FREELY, *arguments]
    with subprocess.Popen(
        command,
        cwd=robota.workspace,
        env={**clean_environment(robota.home), **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        yield
        process.send_signal(signal.SIGKILL)


def settings_with(robota: Robota, turns: list[dict[str, Any]], **more: Any) -> None:
    script(robota, *turns)
    path = robota.home / ".robota/settings.json"
    write_settings(robota, {**json.loads(path.read_text()), **more})


def check_everything_works(robota: Robota) -> None:
    """What was left is sound, and a new session comes to its end."""
    for directory in sessions(robota):
        assert robota("sessions", "verify", directory.name).code == 0
    script(robota, {"text": "Here again."})
    assert robota("-p", "again").stdout == "Here again.\n"
    listed = robota("sessions", "list")
    assert listed.code == 0 and all(directory.name[:8] in listed.stdout for directory in sessions(robota))


def wait_for(path: Path) -> None:
    assert path.read_text() == "up\n"


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"])
def test_a_hook_ends_with_robota(robota: Robota, witness: Witness, event: str) -> None:
    hooks = {event: [{"hooks": [{"type": "command", "command": HELD}]}]}
    settings_with(robota, [BASH, {"text": "done"}], hooks=hooks)
    with killed(robota):
        wait_for(robota.workspace / "up")
    witness.wait_until_gone()
    check_everything_works(robota)


def test_a_server_and_what_it_started_end_with_robota(robota: Robota, tmp_path: Path) -> None:
    server = PlainServer(tmp_path)
    os.mkfifo(server.calls)
    settings_with(robota, [WRITE_NOTE], mcpServers={"plain": server.entry(at_call="ignore_every_wish_to_end")})
    # Open for writing too, so that what is told twice is never taken for told once, however the two writers meet.
    with server.calls.open("r+b", buffering=0) as calls, killed(robota):
        told = b""
        while (started := re.search(rb"\n(\d+) (\d+)\n", told)) is None:
            told += calls.read(4096)
    for number in started.groups():
        wait_for_the_end_of(int(number))
    check_everything_works(robota)


def wait_for_the_end_of(pid: int) -> None:
    try:
        end = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    select.select([end], [], [])
    os.close(end)


@pytest.fixture
def repository(robota: Robota) -> Robota:
    commit(robota.workspace, a_txt="alpha\n", b_txt="beta\n")
    return robota


def stumbling_git(robota: Robota, word: str, moment: str) -> dict[str, str]:
    """An environment whose git, before or after the command `word`, tells that it is there and hangs."""
    real = shutil.which("git")
    place = robota.home / "bin"
    place.mkdir()
    os.mkfifo(place / "up")
    stop = f"echo up > {place}/up; kill -STOP $$"
    before, after = (stop, "") if moment == "before" else ("", stop)
    text = f'#!/bin/sh\ncase " $* " in *" {word} "*) {before}\n{real} "$@"; {after};; *) exec {real} "$@";; esac\n'
    (place / "git").write_text(text)
    (place / "git").chmod(0o755)
    return {"PATH": f"{place}:{os.environ['PATH']}"}


def kill_when_git_is_at(robota: Robota, word: str, moment: str = "before") -> None:
    env = stumbling_git(robota, word, moment)
    script(robota, {"text": "done"})
    with killed(robota, "-w", "x", env=env):
        wait_for(robota.home / "bin/up")
    for pid in processes_of(robota.home / "bin/git"):
        os.kill(pid, signal.SIGKILL)


def processes_of(script_file: Path) -> list[int]:
    places = Path("/proc").glob("[0-9]*")
    return [int(place.name) for place in places if str(script_file) in command_of(place)]


def command_of(place: Path) -> str:
    try:
        return (place / "cmdline").read_text(errors="surrogateescape")
    except OSError:
        return ""


def test_a_worktree_that_was_half_made_is_made_anew(repository: Robota) -> None:
    kill_when_git_is_at(repository, "reset")
    assert sorted(path.name for path in worktree(repository, "x").iterdir()) == [".git"]
    done = run_in_worktree(repository, "x", "test -e a.txt && test -e b.txt && touch whole")
    assert "1 changed or new file" in done.stderr, done.stderr
    assert (worktree(repository, "x") / "whole").exists()
    check_everything_works(repository)


def test_files_of_the_user_in_an_unfinished_worktree_are_not_lost(repository: Robota) -> None:
    kill_when_git_is_at(repository, "reset")
    (worktree(repository, "x") / "mine").write_text("precious")
    refused = run_in_worktree(repository, "x", "true")
    assert refused.code == 3 and "was not finished" in refused.stderr, refused.stderr
    assert repository("worktree", "remove", "x").code == 1
    assert (worktree(repository, "x") / "mine").read_text() == "precious"
    assert repository("worktree", "remove", "x", "--force").code == 0
    assert "was removed" in run_in_worktree(repository, "x", "true").stderr


def test_half_a_worktree_can_be_removed_without_force(repository: Robota) -> None:
    kill_when_git_is_at(repository, "reset")
    assert repository("worktree", "remove", "x").code == 0
    assert branches(repository.workspace) == ["main"]


def test_a_worktree_that_was_half_removed_is_no_obstacle(repository: Robota) -> None:
    kill_when_git_is_at(repository, "remove", "after")
    assert names_of_worktrees(repository) == [] and "worktree-x" in branches(repository.workspace)
    assert "was removed" in run_in_worktree(repository, "x", "true").stderr
    assert branches(repository.workspace) == ["main"]
    check_everything_works(repository)


def test_what_was_held_at_a_kill_counts_as_spent(robota: Robota) -> None:
    """Nobody knows what became of the request: the session and the project have spent what it could cost."""
    with running("fault:stall", stall=600.0) as server:
        profile = {"type": "openai-compatible", "baseURL": server.url, "model": "m"}
        price, limit = {"m": {"price": {"input": 1, "output": 2}}}, {"project": {"day": {"usd": 5}}}
        settings = {"currentProvider": "x", "providers": {"x": profile}, "models": price, "budgets": limit}
        write_settings(robota, settings)
        with killed(robota, "--max-budget-usd", "1", "--session-id", "cut-off"):
            while not server.records:
                os.sched_yield()
        server.reset("hello")
        done = robota("-p", "again", "--resume", "cut-off", "--max-budget-usd", "1", "--output-format", "json")
        accounts = {account["name"]: account for account in json.loads(done.stdout)["budget"]}
    session, project = accounts["session"], accounts["project for today"]
    for account in (session, project):
        assert 0 < account["estimated"]["money"] < account["spent"]["money"]
        assert account["held"]["money"] == 0
    assert session["spent"] == project["spent"]
