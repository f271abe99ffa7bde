"""Worktrees in a repository that has prepared everything for them: nothing of it runs, leaves or is lost."""

import json
import os
from pathlib import Path

import pytest

from tests.agents.worktrees.repositories import ANSWER, branches, commit, git, run_in_worktree, worktree
from tests.cli.scripts import script
from tests.harness.cli import Robota
from tests.hostile.test_policy_tricks import everything_in

SECRET = "the-secret-of-somebody-else"


@pytest.fixture
def robota(robota: Robota) -> Robota:
    commit(robota.workspace, a_txt="alpha\n")
    (robota.workspace / ".robota/worktrees").mkdir(parents=True)
    return robota


def test_a_branch_that_stands_for_another_does_not_take_it_along(robota: Robota) -> None:
    """An unpacked archive can bring such a name. Removing it must leave what it stands for."""
    git(robota.workspace, "symbolic-ref", "refs/heads/worktree-x", "refs/heads/main")
    done = robota("worktree", "remove", "x")
    assert "main" in branches(robota.workspace), done.stdout + done.stderr
    assert "alpha" in git(robota.workspace, "show", "main:a.txt")


@pytest.mark.parametrize("kind", ["pipe", "directory", "link"])
def test_a_lock_that_is_none_holds_nobody_up(robota: Robota, tmp_path: Path, kind: str) -> None:
    lock = worktree(robota, ".x.lock")
    if kind == "pipe":
        os.mkfifo(lock)
    elif kind == "directory":
        lock.mkdir()
    else:
        lock.symlink_to(tmp_path / "elsewhere")
    worktree(robota, "x").mkdir()
    script(robota, ANSWER)
    assert robota("worktree", "list").code == 0
    for arguments in (("-w", "x", "-p", "go"), ("worktree", "remove", "x")):
        done = robota(*arguments)
        assert done.code in (1, 3) and "Traceback" not in done.stderr, done.stderr
    assert worktree(robota, "x").is_dir() and not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    "name", ["../x", "-x", "--force", "a/b", ".git", "x\u200b", "é", "x\x1b[2J", "x" * 65, "$(id)"]
)
def test_a_name_that_could_mean_something_else_makes_nothing(robota: Robota, tmp_path: Path, name: str) -> None:
    script(robota, ANSWER)
    before = everything_in(tmp_path)
    for arguments in ((f"--worktree={name}", "-p", "go"), ("worktree", "remove", "--", name)):
        done = robota(*arguments)
        assert done.code in (1, 2, 3) and "Traceback" not in done.stderr and "\x1b" not in done.stderr, done.stderr
    assert everything_in(tmp_path) == before and branches(robota.workspace) == ["main"]


def test_what_the_include_file_lists_stays_beneath(robota: Robota, tmp_path: Path) -> None:
    """Also after trust: no way up, no link out, no git directory, and nothing from a huge list."""
    (tmp_path / "secret").write_text(SECRET)
    (robota.workspace / "link").symlink_to(tmp_path)
    (robota.workspace / "link.txt").symlink_to(tmp_path / "secret")
    os.mkfifo(robota.workspace / "pipe")
    (robota.workspace / ".gitignore").write_text("link\nlink.txt\npipe\n.env\n.git\n")
    (robota.workspace / ".env").write_text("A=1")
    patterns = [
        "../secret",
        "/../**",
        f"{tmp_path}/secret",
        "link/**",
        "link.txt",
        "pipe",
        ".git/**",
        ".robota/**",
        "-x",
    ]
    (robota.workspace / ".worktreeinclude").write_text(
        "\n".join(["x" * 140_000, "*.env", *patterns, *("x" * 9 for _ in range(9000))])
    )
    commit(robota.workspace)
    assert robota("trust", "--yes").code == 0
    done = run_in_worktree(robota, "x", "touch stay")
    made = worktree(robota, "x")
    assert sorted(path.name for path in made.iterdir() if path.name != ".robota") == [
        ".env",
        ".git",
        ".gitignore",
        ".worktreeinclude",
        "a.txt",
        "stay",
    ], done.stderr
    assert SECRET not in "".join(content.decode("utf-8", "replace") for content in everything_in(made).values())


def test_configuration_of_git_that_only_holds_in_the_new_place_runs_nothing(robota: Robota, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    evil = tmp_path / "evil.config"
    evil.write_text(f'[filter "evil"]\n\tsmudge = touch {canary}; cat\n\tclean = touch {canary}; cat\n\trequired\n')
    for condition in ("onbranch:worktree-x", "gitdir:**/worktrees/x", "onbranch:worktree-*"):
        git(robota.workspace, "config", f"includeIf.{condition}.path", str(evil))
    for key in ("core.fsmonitor", "core.sshCommand", "core.alternateRefsCommand", "core.askPass", "gpg.program"):
        git(robota.workspace, "config", key, f"touch {canary};")
    git(robota.workspace, "config", "filter.clean", f"touch {canary}")
    git(robota.workspace, "config", "status.submoduleSummary", "true")
    (robota.workspace / ".gitmodules").write_text(f'[submodule "s"]\n\tpath = s\n\turl = ext::touch {canary}\n')
    (robota.workspace / ".gitattributes").write_text("* filter=evil\n")
    commit(robota.workspace)
    hooks = robota.workspace / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {canary}\n")
        (hooks / name).chmod(0o755)
    canary.unlink(missing_ok=True)
    done = run_in_worktree(robota, "x", "true", options=())
    assert done.code == 0 and not canary.exists(), done.stderr
    assert robota("worktree", "list").code == 0 and not canary.exists()


def test_a_planted_worktree_and_its_settings_are_not_trusted(robota: Robota, tmp_path: Path) -> None:
    """The directory is where a worktree would be, and its `.git` claims to belong to the repository."""
    place = worktree(robota, "x")
    (place / ".robota").mkdir(parents=True)
    hook = {"type": "command", "command": f"touch {tmp_path}/canary"}
    (place / ".robota/settings.json").write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}))
    (place / ".git").write_text(f"gitdir: {robota.workspace}/.git\n")
    script(robota, ANSWER)
    refused = robota("-w", "x", "-p", "go")
    assert refused.code == 3 and "is not a worktree of this repository" in refused.stderr
    inside = Robota(place, robota.home)
    assert "is not trusted" in inside("-p", "go").stderr
    assert not (tmp_path / "canary").exists()
