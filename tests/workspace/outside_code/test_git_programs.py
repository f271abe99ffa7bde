"""Programs outside the sandbox that start git: git runs what a repository names only if the user agreed to it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.workspace.outside_code.code_search import NamedProgram
from robota.workspace.outside_code.outside_code import CodeRefused, OutsideCode

SETTINGS = {
    "fsmonitor": '[core]\n\tfsmonitor = "./evil.sh"\n',
    "filter": '[filter "x"]\n\tclean = ./evil.sh\n',
    "external diff": "[diff]\n\texternal = ./evil.sh\n",
    "included": "[include]\n\tpath = ../settings\n",
}


class Project:
    """A repository, and a home with a script that starts git."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "project"
        self.env = {"HOME": str(directory / "home"), "PATH": "/usr/bin:/bin"}
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.script = directory / "home/status.sh"
        self.script.parent.mkdir()
        self.script.write_text("#!/bin/sh\nprintf '%s' \"$(git branch --show-current)\"\n")

    def code(self, *, is_trusted: bool) -> OutsideCode:
        return OutsideCode(self.root, self.env, is_trusted=is_trusted, attended=True)

    def configure(self, text: str) -> None:
        with (self.root / ".git/config").open("a") as config:
            config.write(text)

    def hook(self, name: str) -> None:
        path = self.root / ".git/hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def shell(project: Project, command: str) -> NamedProgram:
    return NamedProgram(label="hook", argv=("/bin/sh", "-c", command), cwd=project.root)


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize(
    "command", ["git status --short", "x=$(git diff | wc -l)", "sh ~/status.sh", "$HOME/status.sh"]
)
def test_what_may_start_git_does_not_run_where_git_would_run_programs(
    project: Project, command: str, text: str
) -> None:
    project.configure(text)
    with pytest.raises(CodeRefused, match="it may start git"):
        project.code(is_trusted=False).verify(shell(project, command))


@pytest.mark.parametrize(
    ("hook", "command"), [("post-index-change", "git status"), ("pre-commit", "git add -A; git commit -qm wip")]
)
def test_neither_where_git_would_run_hooks(project: Project, hook: str, command: str) -> None:
    project.hook(hook)
    with pytest.raises(CodeRefused, match="it may start git"):
        project.code(is_trusted=False).verify(shell(project, command))


def test_hooks_for_commits_do_not_keep_a_program_from_looking(project: Project) -> None:
    project.hook("pre-commit")
    project.code(is_trusted=False).verify(shell(project, "git status --short"))


@pytest.mark.parametrize("command", ["git status; git commit -qm wip", "sh ~/status.sh"])
def test_in_an_ordinary_repository_nothing_is_in_the_way(project: Project, command: str) -> None:
    project.configure('[remote "origin"]\n\turl = https://example.com/x.git\n[branch "main"]\n\tremote = origin\n')
    assert not project.code(is_trusted=False).verify(shell(project, command)).files


def test_a_program_that_starts_no_git_runs_in_any_repository(project: Project) -> None:
    project.configure(SETTINGS["fsmonitor"])
    project.code(is_trusted=False).verify(shell(project, "echo .git; curl https://example.com/x.git"))


def _configure(project: Project) -> None:
    project.configure(SETTINGS["fsmonitor"])


def _add_hook(project: Project) -> None:
    project.hook("pre-commit")


@pytest.mark.parametrize("change", [_configure, _add_hook])
def test_what_git_was_made_to_run_since_the_user_agreed_does_not_run(
    project: Project, change: Callable[[Project], None]
) -> None:
    """Where `.git` cannot be protected, a command in the sandbox can write it."""
    program = shell(project, "git commit -qam wip")
    project.code(is_trusted=True).verify(program)
    change(project)
    with pytest.raises(CodeRefused, match="changed since you agreed"):
        project.code(is_trusted=True).verify(program)


def test_a_program_that_git_was_made_to_run_with_the_users_consent_must_not_change(project: Project) -> None:
    monitor = project.root / "evil.sh"
    monitor.write_text("#!/bin/sh\n")
    project.configure(SETTINGS["fsmonitor"])
    program = shell(project, "git status")
    code = project.code(is_trusted=True)
    code.verify(program)
    monitor.write_text("#!/bin/sh\ntouch planted\n")
    with pytest.raises(CodeRefused, match=r"evil\.sh changed since you agreed"):
        code.verify(program)
