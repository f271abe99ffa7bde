"""git for our own calls runs nothing that a repository names, however hard the repository tries."""

import asyncio
import os
from pathlib import Path

import pytest

from robota.workspace.git.run import Git, GitFailed, GitMissing, GitStopped, open_git
from tests.agents.worktrees.repositories import ANSWER, commit, git, names_of_worktrees, run_in_worktree
from tests.cli.scripts import script
from tests.harness.cli import Robota


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A program that leaves a mark where it ran."""
    program = tmp_path / "canary.sh"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/sang\ncat\n")
    program.chmod(0o755)
    return program


def assert_silent(canary: Path) -> None:
    assert not canary.with_name("sang").exists()


def armed(robota: Robota, canary: Path, *settings: tuple[str, str]) -> None:
    for key, value in settings:
        git(robota.workspace, "config", key, value.replace("CANARY", str(canary)))


HELPERS = [
    ("core.fsmonitor", "CANARY"),
    ("core.sshCommand", "CANARY"),
    ("core.pager", "CANARY"),
    ("core.editor", "CANARY"),
    ("diff.external", "CANARY"),
    ("gpg.program", "CANARY"),
    ("log.showSignature", "true"),
    ("credential.helper", "!CANARY"),
    ("diff.evil.textconv", "CANARY"),
]


def test_helpers_and_hooks_do_not_run(robota: Robota, canary: Path) -> None:
    """Creating, inspecting and removing a worktree of a hostile repository."""
    commit(robota.workspace, a_txt="a", **{".gitattributes": "* diff=evil\n"})
    armed(robota, canary, *HELPERS)
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-commit"):
        (robota.workspace / ".git/hooks" / hook).symlink_to(canary)
    script(robota, ANSWER)
    done = robota("-w", "x", "-p", "go")
    assert done.code == 0 and "was removed" in done.stderr, done.stderr
    assert_silent(canary)


@pytest.mark.parametrize("key", ["clean", "smudge", "process"])
def test_filters_do_not_run(robota: Robota, canary: Path, key: str) -> None:
    """Git runs a filter on checkout, and also when it only compares files."""
    commit(robota.workspace, a_txt="a", **{".gitattributes": "* filter=evil\n"})
    armed(robota, canary, (f"filter.evil.{key}", "CANARY"), ("filter.evil.required", "true"))
    script(robota, {"calls": [{"name": "write_to_file", "arguments": {"path": "a.txt", "content": "b"}}]}, ANSWER)
    done = robota("-w", "x", "-p", "go", "--permission-mode", "acceptEdits")
    assert done.code == 0, done.stderr
    assert robota("worktree", "list").code == 0
    assert_silent(canary)


@pytest.mark.parametrize("ignore", ["none", "dirty", "all"])
def test_filters_of_a_submodule_do_not_run(robota: Robota, canary: Path, ignore: str) -> None:
    """A git in a submodule obeys the settings of that one, and `@problems` asks git what was changed."""
    part = robota.workspace / "part"
    part.mkdir()
    git(part, "init", "--quiet")
    for key in ("user.name", "user.email"):
        git(part, "config", key, "t@example.invalid")
    commit(part, a_txt="a", **{".gitattributes": "* filter=evil\n"})
    commit(robota.workspace, b_txt="b")
    git(part, "config", "filter.evil.clean", str(canary))
    git(robota.workspace, "config", "submodule.part.ignore", ignore)
    (robota.workspace / ".gitmodules").write_text(f'[submodule "part"]\n\tpath = part\n\tignore = {ignore}\n')
    (part / "a.txt").write_text("other\n")
    script(robota, ANSWER)
    assert robota("-p", "What is wrong? @problems").code == 0
    assert_silent(canary)


@pytest.mark.parametrize("condition", ["gitdir:**/worktrees/**", "onbranch:worktree-*"])
def test_filters_that_only_hold_in_the_worktree_do_not_run(robota: Robota, canary: Path, condition: str) -> None:
    commit(robota.workspace, a_txt="a", **{".gitattributes": "* filter=evil\n"})
    (robota.workspace / ".git/more").write_text(f'[filter "evil"]\n\tsmudge = {canary}\n\tclean = {canary}\n')
    git(robota.workspace, "config", f"includeIf.{condition}.path", "more")
    script(robota, ANSWER)
    done = robota("-w", "x", "-p", "go")
    assert done.code == 0, done.stderr
    assert_silent(canary)


def test_a_filter_that_cannot_be_switched_off_is_refused(robota: Robota, canary: Path) -> None:
    commit(robota.workspace, a_txt="a", **{".gitattributes": "* filter=a=b\n"})
    armed(robota, canary, ("filter.a=b.smudge", "CANARY"))
    script(robota, ANSWER)
    done = robota("-w", "x", "-p", "go")
    assert done.code == 3 and "cannot be switched off" in done.stderr
    assert names_of_worktrees(robota) == []
    assert_silent(canary)


def test_nothing_that_is_missing_is_fetched(robota: Robota, canary: Path) -> None:
    """A partial clone fetches by the program its configuration names."""
    commit(robota.workspace, a_txt="a")
    blob = git(robota.workspace, "rev-parse", "HEAD:a.txt")
    (robota.workspace / ".git/objects" / blob[:2] / blob[2:]).unlink()
    armed(
        robota,
        canary,
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", "."),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", "CANARY"),
        ("protocol.allow", "always"),
    )
    script(robota, ANSWER)
    done = robota("-w", "x", "-p", "go")
    assert done.code == 3 and "could not be created" in done.stderr
    assert names_of_worktrees(robota) == []
    assert_silent(canary)


def test_a_bare_repository_hidden_in_a_directory_is_not_believed(robota: Robota, canary: Path) -> None:
    """Its configuration would name a helper."""
    commit(robota.workspace, a_txt="a")
    hidden = robota.workspace / "docs"
    git(robota.workspace, "clone", "--quiet", "--bare", ".", str(hidden))
    git(hidden, "config", "core.fsmonitor", str(canary))
    git(hidden, "config", "core.bare", "false")
    git(hidden, "config", "core.worktree", "..")
    script(robota, ANSWER)
    done = Robota(hidden, robota.home)("-w", "x", "-p", "go")
    assert done.code == 3 and "is a bare repository" in done.stderr, done.stderr
    assert_silent(canary)


def test_variables_of_git_do_not_lead_elsewhere(robota: Robota, tmp_path: Path) -> None:
    commit(robota.workspace, a_txt="a")
    script(robota, ANSWER)
    astray = {"GIT_DIR": str(tmp_path), "GIT_WORK_TREE": str(tmp_path), "GIT_INDEX_FILE": str(tmp_path / "index")}
    done = robota("-w", "x", "-p", "go", env=astray)
    assert done.code == 0 and "was removed" in done.stderr, done.stderr


def test_names_are_only_names(robota: Robota) -> None:
    """A branch, an address and a file whose names are commands."""
    (robota.workspace / ";id>pwned").write_text("x")
    (robota.workspace / "-rf").write_text("x")
    git(robota.workspace, "config", "user.email", "$(touch pwned)@example.invalid")
    commit(robota.workspace)
    git(robota.workspace, "checkout", "--quiet", "-b", "$(touch${IFS}pwned)")
    done = run_in_worktree(robota, "x", "true")
    assert done.code == 0 and "was removed" in done.stderr, done.stderr
    assert not (robota.workspace / "pwned").exists()


def opened(directory: Path) -> Git:
    return asyncio.run(open_git(directory, os.environ))


def test_what_the_user_set_for_themselves_counts(workspace: Path, home: Path) -> None:
    """Which repositories of others are safe, and what to ignore everywhere; nothing else of it."""
    own = "[safe]\n\tdirectory = /srv/shared\n[core]\n\texcludesFile = /my/ignore\n\teditor = vi\n"
    (home / ".gitconfig").write_text(own)
    git_here = opened(workspace)
    assert asyncio.run(git_here.line("config", "safe.directory")) == "/srv/shared"
    assert asyncio.run(git_here.line("config", "core.excludesFile")) == "/my/ignore"
    assert not asyncio.run(git_here.agrees("config", "core.editor"))


def test_the_words_of_git_are_the_error(workspace: Path, home: Path) -> None:
    with pytest.raises(GitFailed, match="Needed a single revision"):
        asyncio.run(opened(workspace).run("rev-parse", "--verify", "nowhere"))


def test_no_git_is_an_error_of_its_own(workspace: Path) -> None:
    with pytest.raises(GitMissing):
        asyncio.run(open_git(workspace, {"PATH": "relative"}))


def test_time_is_limited_and_the_process_is_gone(workspace: Path, home: Path) -> None:
    async def wait_for_input() -> None:
        git_here = await open_git(workspace, os.environ)
        os.mkfifo(workspace / "pipe")
        with pytest.raises(GitStopped, match="did not end"):
            await git_here.run("hash-object", "pipe", timeout_s=0.2)

    asyncio.run(wait_for_input())
    # Nobody reads the pipe any more, so it cannot be opened for writing.
    with pytest.raises(OSError, match="No such device"):
        os.open(workspace / "pipe", os.O_WRONLY | os.O_NONBLOCK)


def test_too_much_output_is_an_error_and_never_half_an_answer(workspace: Path, home: Path) -> None:
    (workspace / "big").write_bytes(b"x" * (17 * 1024 * 1024))
    with pytest.raises(GitStopped, match="printed more than"):
        asyncio.run(opened(workspace).run("diff", "--no-index", "--", os.devnull, "big"))
