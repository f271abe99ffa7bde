"""What runs outside the sandbox: no program, PATH entry or variable that commands of the agent could have written."""

import asyncio
import os
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from robota.workspace.git.run import open_git
from robota.workspace.outside_program import (
    ProgramRefused,
    clean_environment,
    clean_path,
    find_program,
    run_outside,
    start_outside_async,
)
from robota.workspace.search.ripgrep import RipgrepMissing, ripgrep_program
from robota.workspace.user_programs.browser import open_page


def program(place: Path, script: str = ': >"$0.was-run"') -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)
    return place


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
def planted(root: Path) -> Path:
    """A virtual environment of the workspace, with programs that leave a trace."""
    for name in ("git", "rg", "tool", "xdg-open"):
        program(root / ".venv" / "bin" / name)
    return root / ".venv" / "bin"


def was_run(root: Path) -> list[Path]:
    return list(root.rglob("*.was-run"))


def test_a_program_in_the_workspace_is_not_found(planted: Path, root: Path) -> None:
    environment = {"PATH": os.pathsep.join((str(planted), "relative", os.environ["PATH"]))}
    assert find_program("git", environment, not_beneath=None) == str(planted / "git")
    found = find_program("git", environment, not_beneath=root)
    assert found is not None and found == find_program("git", os.environ, not_beneath=None)
    assert find_program("git", {"PATH": str(planted)}, not_beneath=root) is None
    assert find_program(str(planted / "git"), environment, not_beneath=root) is None


def test_links_into_and_through_the_workspace_are_followed(planted: Path, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "bin"
    outside.mkdir()
    (outside / "tool").symlink_to(planted / "tool")
    (tmp_path / "linked").symlink_to(planted)
    # A link of the workspace that leads out again can be replaced by a command.
    (root / "way-out").symlink_to(outside)
    (tmp_path / "through").symlink_to(root / "way-out")
    program(outside / "other")
    for folder in (outside, tmp_path / "linked", root / "way-out", tmp_path / "through"):
        assert find_program("tool", {"PATH": str(folder)}, not_beneath=root) is None, folder
    assert clean_path(f"{tmp_path / 'through'}:{tmp_path / 'linked'}:{outside}", root) == str(outside)
    assert find_program("other", {"PATH": str(outside)}, not_beneath=root) == str(outside / "other")


def test_a_workspace_that_is_reached_by_a_link_is_the_same(planted: Path, root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    for folder in (planted, tmp_path / "alias" / ".venv" / "bin", f"{tmp_path}/other/../ws/.venv/bin"):
        assert find_program("git", {"PATH": str(folder)}, not_beneath=tmp_path / "alias") is None


def test_a_program_that_an_interpreter_of_the_workspace_runs_is_refused(root: Path, tmp_path: Path) -> None:
    interpreter = program(root / ".venv" / "bin" / "python")
    script = tmp_path / "bin" / "installed-tool"
    script.parent.mkdir()
    script.write_text(f"#!{interpreter}\n")
    script.chmod(0o755)
    assert find_program("installed-tool", {"PATH": str(script.parent)}, not_beneath=root) is None


def test_a_private_tmp_of_commands_holds_no_program(tmp_path: Path, root: Path) -> None:
    private = tmp_path / "robota-tmp-abc" / "bin"
    program(private / "tool")
    assert find_program("tool", {"PATH": str(private)}, not_beneath=root) is None


def test_the_project_of_a_worktree_counts_as_writable_too(planted: Path, root: Path) -> None:
    worktree = root / ".robota" / "worktrees" / "one"
    worktree.mkdir(parents=True)
    assert find_program("tool", {"PATH": str(planted)}, not_beneath=worktree) is None


def test_a_started_program_gets_a_path_without_the_workspace(planted: Path, root: Path) -> None:
    environment = {"PATH": f"{planted}:.::{os.environ['PATH']}", "HOME": "/"}
    done = run_outside(["sh", "-c", "tool; echo $PATH"], workspace=root, env=environment, cwd=root, stdout=PIPE)
    assert done.stdout.decode().strip() == clean_path(os.environ["PATH"], root)
    assert not was_run(root)


def test_a_program_that_is_only_in_the_workspace_is_named_with_the_way_out(planted: Path, root: Path) -> None:
    environment = {"PATH": f"{planted}:/usr/bin:/bin"}
    with pytest.raises(ProgramRefused) as refused:
        run_outside(["tool"], workspace=root, env=environment)
    reason = str(refused.value.strerror)
    assert str(planted) in reason and "commands of the agent can write" in reason
    assert f"Give its path instead: {planted}/tool" in reason


def test_a_path_in_the_workspace_runs_only_if_its_content_was_verified(planted: Path, root: Path) -> None:
    async def started(verified: frozenset[Path]) -> int:
        process = await start_outside_async(
            [".venv/bin/tool"], workspace=root, env=os.environ, cwd=root, verified=verified
        )
        return await process.wait()

    with pytest.raises(ProgramRefused, match="not verified"):
        asyncio.run(started(frozenset()))
    assert not was_run(root)
    assert asyncio.run(started(frozenset({planted / "tool"}))) == 0


def test_without_a_workspace_only_our_own_programs_start() -> None:
    assert run_outside([sys.executable, "-c", ""], workspace=None, env={}).returncode == 0
    with pytest.raises(ValueError, match="workspace must be known"):
        run_outside(["git"], workspace=None, env=os.environ)


LOADING = {
    "PYTHONPATH": "{root}/src:/usr/lib/python3:lib:",
    "NODE_PATH": "{root}/node_modules",
    "PERL5LIB": "/usr/share/perl5:{root}/perl",
    "LD_LIBRARY_PATH": "{root}/lib",
    "LD_PRELOAD": "{root}/evil.so",
    "VIRTUAL_ENV": "{root}/.venv",
    "PYTHONSTARTUP": "{root}/start.py",
    "NODE_OPTIONS": "--require ./evil.js",
    "RUBYOPT": "-r{root}/evil.rb",
    "BASH_ENV": "env.d/file",
    "GIT_DIR": "{root}/.fake",
    "GIT_SSH_COMMAND": "{root}/ssh",
    "RIPGREP_CONFIG_PATH": "{root}/.ripgreprc",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "{root}/monitor",
}


def test_variables_that_load_code_of_the_workspace_are_not_passed_on(root: Path) -> None:
    environment = {name: value.format(root=root) for name, value in LOADING.items()}
    assert clean_environment(environment, root) == {"PYTHONPATH": "/usr/lib/python3", "PERL5LIB": "/usr/share/perl5"}


def test_variables_that_load_nothing_of_the_workspace_stay(root: Path) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "PWD": str(root),
        "CLAUDE_PROJECT_DIR": str(root),
        "NODE_OPTIONS": "--max-old-space-size=4096",
        "JAVA_TOOL_OPTIONS": "-javaagent:/opt/agent.jar",
        "GIT_SSH_COMMAND": "ssh -i /home/user/.ssh/key",
        "VIRTUAL_ENV": f"{root}-other/.venv",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.pager",
        "GIT_CONFIG_VALUE_0": "a/b",
    }
    assert clean_environment(environment, root) == environment


def test_git_is_not_taken_from_an_active_virtual_environment_of_the_workspace(planted: Path, root: Path) -> None:
    environment = {**os.environ, "PATH": os.pathsep.join((str(planted), os.environ["PATH"]))}
    git = asyncio.run(open_git(root, environment))
    assert git.program != str(planted / "git") and not was_run(root)


def test_ripgrep_is_not_taken_from_the_workspace(
    planted: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "without-ripgrep"))
    monkeypatch.setenv("PATH", str(planted))
    with pytest.raises(RipgrepMissing, match="outside the workspace"):
        ripgrep_program(root)


def test_a_page_is_not_opened_by_a_browser_of_the_workspace(planted: Path, root: Path, tmp_path: Path) -> None:
    browser = program(tmp_path / "bin" / "browser", 'echo "$@" >"$0.opened"')
    assert not open_page("https://example.org/", {"PATH": str(planted)}, root)
    assert not open_page("https://example.org/", {"PATH": "", "BROWSER": str(planted / "xdg-open")}, root)
    assert not was_run(root)
    assert open_page("https://example.org/", {"PATH": str(planted), "BROWSER": f"{browser} %s"}, root)
    assert (tmp_path / "bin" / "browser.opened").read_text() == "https://example.org/\n"
