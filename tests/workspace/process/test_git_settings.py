"""With the settings that every command gets, a real git that only reads runs nothing and writes nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from robota.workspace.process.environment import command_environment
from robota.workspace.process.git_settings import with_git_settings

IDENTITY = ("-c", "user.name=a", "-c", "user.email=b")
# What a repository says, and what git must take it for all the same.
OVERRULED = {
    "core.fsmonitor": ("true", "false"),
    "log.showSignature": ("true", "false"),
    "format.pretty": ("format:%GK", "medium"),
    "diff.submodule": ("diff", "short"),
    "status.submoduleSummary": ("true", "false"),
    "diff.autoRefreshIndex": ("true", "false"),
    "stash.showPatch": ("true", "false"),
}
SIGNED = """\
tree {tree}
author a <b> 1700000000 +0000
committer a <b> 1700000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 bm90aGluZw==
 -----END PGP SIGNATURE-----

signed
"""


def git(directory: Path, *words: str, stdin: str = "", own: dict[str, str] | None = None) -> tuple[int, str]:
    """The exit code and the output of git as a command of the model runs it."""
    environment = with_git_settings(command_environment({**os.environ, **(own or {})}))
    done = subprocess.run(
        ["git", *words], cwd=directory, env=environment, input=stdin, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    assert git(root, "init", "-q")[0] == 0
    (root / "a.txt").write_text("one\n")
    git(root, "add", ".")
    assert git(root, *IDENTITY, "commit", "-q", "-m", "one")[0] == 0
    return root


def program(tmp_path: Path) -> tuple[Path, Path]:
    """A program, and the file that is there once it has run."""
    ran, script = tmp_path / "ran", tmp_path / "program"
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o755)
    return script, ran


def test_a_directory_that_looks_like_a_repository_is_none(repository: Path) -> None:
    docs = repository / "docs"
    for name in ("objects", "refs"):
        (docs / name).mkdir(parents=True)
    (docs / "HEAD").write_text("ref: refs/heads/main\n")
    (docs / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tworktree = ..\n")
    plain = subprocess.run(["git", "rev-parse", "--git-dir"], cwd=docs, capture_output=True, text=True, check=True)
    assert (docs / plain.stdout.strip()).resolve() == docs.resolve()
    assert git(docs, "rev-parse", "--git-dir")[0] != 0


@pytest.mark.parametrize("name", OVERRULED)
def test_a_repository_does_not_overrule_them(repository: Path, name: str) -> None:
    theirs, ours = OVERRULED[name]
    git(repository, "config", "--file", ".git/config", name, theirs)
    assert git(repository, "config", "--get", name) == (0, ours)


def test_no_program_of_the_repository_says_what_has_changed(repository: Path, tmp_path: Path) -> None:
    script, ran = program(tmp_path)
    git(repository, "config", "--file", ".git/config", "core.fsmonitor", str(script))
    assert git(repository, "status", "--short") == (0, "")
    assert not ran.exists()


def test_no_program_of_the_repository_looks_at_signatures(repository: Path, tmp_path: Path) -> None:
    script, ran = program(tmp_path)
    for name, value in (("gpg.program", str(script)), ("log.showSignature", "true"), ("format.pretty", "format:%G?")):
        git(repository, "config", "--file", ".git/config", name, value)
    tree = git(repository, "rev-parse", "HEAD^{tree}")[1]
    commit = git(repository, "hash-object", "-t", "commit", "-w", "--stdin", stdin=SIGNED.format(tree=tree))[1]
    subprocess.run(["git", "log", "-1", commit], cwd=repository, capture_output=True, check=False)
    assert ran.exists()
    ran.unlink()
    assert "signed" in git(repository, "log", "-1", commit)[1]
    assert not ran.exists()


def test_looking_does_not_write_the_index(repository: Path) -> None:
    index, file = repository / ".git/index", repository / "a.txt"
    os.utime(file, (1, 1))
    before = index.read_bytes()
    assert git(repository, "status", "--short") == git(repository, "diff") == (0, "")
    assert index.read_bytes() == before


def test_the_repository_is_the_one_in_the_workspace(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    own = {"GIT_DIR": str(other), "GIT_WORK_TREE": str(other), "GIT_CONFIG_PARAMETERS": "'core.bare'='true'"}
    assert git(repository, "rev-parse", "--show-toplevel", own=own) == (0, str(repository))
