"""WorktreeCreate makes a worktree in our place, WorktreeRemove is told before one goes: real scripts."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.worktrees.repositories import (
    ANSWER,
    FREELY,
    branches,
    commanding,
    commit,
    names_of_worktrees,
    worktree,
)
from tests.cli.scripts import script, sessions
from tests.harness.cli import Finished, Robota


@pytest.fixture
def robota(robota: Robota) -> Robota:
    commit(robota.workspace, a_txt="alpha\n")
    return robota


def run_with_hooks(robota: Robota, hooks: dict[str, str], *commands: str) -> Finished:
    """A session in the worktree `x` of a user who has these hooks."""
    script(robota, *(commanding(*commands) if commands else [ANSWER]))
    path = robota.home / ".robota/settings.json"
    settings = json.loads(path.read_text())
    settings["hooks"] = {name: [{"hooks": [{"type": "command", "command": text}]}] for name, text in hooks.items()}
    path.write_text(json.dumps(settings))
    return robota("-w", "x", *FREELY, "-p", "go")


def hook_input(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


def test_the_hook_is_told_the_name_and_makes_the_place(robota: Robota, tmp_path: Path) -> None:
    made, told = tmp_path / "made", tmp_path / "told.json"
    create = f"cat > {told}; mkdir {made}; echo chatter; echo {made}"
    done = run_with_hooks(robota, {"WorktreeCreate": create}, "echo work > b.txt")
    assert done.code == 0, done.stderr
    assert (made / "b.txt").read_text() == "work\n"
    assert names_of_worktrees(robota) == [] and branches(robota.workspace) == ["main"]
    (session,) = sessions(robota)
    event = hook_input(told)
    assert (event["hook_event_name"], event["name"], event["cwd"]) == ("WorktreeCreate", "x", str(robota.workspace))
    assert (event["session_id"], event["transcript_path"]) == (session.name, str(session / "log.jsonl"))


def test_what_a_hook_made_and_git_does_not_know_is_always_kept(robota: Robota, tmp_path: Path) -> None:
    done = run_with_hooks(robota, {"WorktreeCreate": f"mkdir {tmp_path}/made; echo {tmp_path}/made"})
    assert f"The worktree x was kept: {tmp_path}/made" in done.stderr
    assert (tmp_path / "made").is_dir()


def test_a_path_may_be_relative_to_the_repository(robota: Robota) -> None:
    done = run_with_hooks(robota, {"WorktreeCreate": "mkdir -p .robota/own; echo .robota/own"}, "touch here")
    assert done.code == 0, done.stderr
    assert (robota.workspace / ".robota/own/here").exists()


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ("echo no room >&2; exit 1", "no room"),
        ("echo /tmp; exit 3", "created no worktree"),
        ("true", "created no worktree"),
        ("echo /does/not/exist", "does not exist"),
        ("echo a.txt", "is not a directory"),
        ("echo .", "is the project itself"),
        ("echo /", "is the project itself or a parent directory of it"),
        ("exec does-not-exist-anywhere", "created no worktree"),
    ],
)
def test_a_hook_that_fails_starts_nothing_and_nothing_else_makes_one(robota: Robota, hook: str, words: str) -> None:
    done = run_with_hooks(robota, {"WorktreeCreate": hook})
    assert (done.code, done.stdout) == (3, ""), done.stderr
    assert words in done.stderr and "Nothing was started" in done.stderr
    assert names_of_worktrees(robota) == [] and branches(robota.workspace) == ["main"]


def test_a_hook_may_make_a_worktree_of_git_elsewhere(robota: Robota, tmp_path: Path) -> None:
    place, told = tmp_path / "place", tmp_path / "told.json"
    create = f"git worktree add -q -b topic {place} >&2 && echo {place}"
    hooks = {"WorktreeCreate": create, "WorktreeRemove": f"cat > {told}"}
    kept = run_with_hooks(robota, hooks, "touch b.txt")
    assert "was kept: 1 changed or new file" in kept.stderr and not told.exists()
    (place / "b.txt").unlink()
    again = run_with_hooks(robota, {**hooks, "WorktreeCreate": f"echo {place}"})
    assert "was removed" in again.stderr, again.stderr
    assert hook_input(told)["worktree_path"] == str(place)
    assert not place.exists() and branches(robota.workspace) == ["main", "topic"]


def test_the_hook_is_told_before_a_worktree_is_removed(robota: Robota, tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    # That a.txt is still there shows that it runs before.
    hook = f"cat > {told}; test -e {worktree(robota, 'x')}/a.txt || rm {told}"
    done = run_with_hooks(robota, {"WorktreeRemove": hook})
    assert "was removed" in done.stderr
    event = hook_input(told)
    assert (event["hook_event_name"], event["worktree_path"]) == ("WorktreeRemove", str(worktree(robota, "x")))


def test_a_hook_cannot_stop_a_removal_and_is_not_told_of_what_is_kept(robota: Robota, tmp_path: Path) -> None:
    hook = {"WorktreeRemove": f"touch {tmp_path}/called; exit 2"}
    assert "was kept" in run_with_hooks(robota, hook, "touch b.txt").stderr
    assert not (tmp_path / "called").exists()
    assert robota("worktree", "remove", "x", "--force").code == 0
    assert (tmp_path / "called").exists() and names_of_worktrees(robota) == []


def test_hooks_of_a_repository_nobody_trusted_make_no_worktree(robota: Robota, tmp_path: Path) -> None:
    hook = {"type": "command", "command": f"touch {tmp_path}/ran; echo {tmp_path}"}
    (robota.workspace / ".claude").mkdir()
    settings = {"hooks": {"WorktreeCreate": [{"hooks": [hook]}], "WorktreeRemove": [{"hooks": [hook]}]}}
    (robota.workspace / ".claude/settings.json").write_text(json.dumps(settings))
    commit(robota.workspace)
    script(robota, ANSWER)
    done = robota("-w", "x", "-p", "go")
    assert done.code == 0 and "was removed" in done.stderr, done.stderr
    assert not (tmp_path / "ran").exists()
