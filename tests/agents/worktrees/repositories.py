"""Repositories to make worktrees of, by real git, and what a session does in them."""

import subprocess
from pathlib import Path
from typing import Any

from tests.cli.scripts import call, script
from tests.harness.cli import Finished, Robota, clean_environment

ANSWER = {"text": "Done."}
FREELY = ("--permission-mode", "bypassPermissions")


def git(directory: Path, *arguments: str) -> str:
    env = {**clean_environment(directory), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    done = subprocess.run(["git", *arguments], cwd=directory, env=env, capture_output=True, check=True)
    return done.stdout.decode().strip()


def commit(directory: Path, **files: str) -> str:
    """Write the files (`a_txt` is `a.txt`), commit everything, and return the commit."""
    for name, content in files.items():
        (directory / name.replace("_", ".")).write_text(content)
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message", "work", "--allow-empty")
    return git(directory, "rev-parse", "HEAD")


def worktree(robota: Robota, name: str) -> Path:
    return robota.workspace / ".robota" / "worktrees" / name


def run_in_worktree(robota: Robota, name: str, *commands: str, options: tuple[str, ...] = FREELY) -> Finished:
    """A session in the worktree `name` in which the model runs these shell commands."""
    script(robota, *commanding(*commands))
    return robota("-w", name, *options, "-p", "go")


def commanding(*commands: str) -> list[dict[str, Any]]:
    return [{"calls": [call("execute_command", command=command)]} for command in commands] + [ANSWER]


def branches(directory: Path) -> list[str]:
    return git(directory, "for-each-ref", "--format=%(refname:short)", "refs/heads").split("\n")


def names_of_worktrees(robota: Robota) -> list[str]:
    return [name for name in _entries(robota) if not name.startswith(".")]


def locks(robota: Robota) -> list[str]:
    return [name for name in _entries(robota) if name.endswith(".lock")]


def _entries(robota: Robota) -> list[str]:
    place = worktree(robota, "x").parent
    return sorted(path.name for path in place.iterdir()) if place.is_dir() else []
