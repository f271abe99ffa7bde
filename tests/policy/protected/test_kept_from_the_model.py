"""What is kept from the model is kept from commands that print it: by rules, by `.robotaignore`, by its name."""

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from robota.app.policy import kept_files
from robota.contracts.verdict import Decision, Verdict
from robota.policy.decide import SessionPolicy
from robota.policy.protected.path_resolver import PathResolver
from robota.policy.rules.rule import parse_rules
from robota.policy.rules.sources import RuleSet
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.git.configured_programs import configured_programs
from robota.workspace.git.repository_safety import git_safety
from robota.workspace.shell.expansion import files_matching
from tests.policy.judging import running

SCRIPT = """
    git init -q -b main . && git config user.name me && git config user.email me@example.com
    git add --all && git commit -qm first
"""
PRINTING = [
    "git log -p",
    "git show",
    "git show HEAD~1",
    "git diff HEAD~1",
    "git diff --cached",
    "git diff-tree -p HEAD",
    "git stash show -p",
    "git show --stat 0123abcd",
    "git cat-file -p 0123abcd",
    "git grep x HEAD",
    "git log -p -- ':(top)secret.txt'",
    "git log -p -- 'secr*'",
    "git status -v",
]
NAMES_ONLY = ["git status", "git log --oneline", "git diff --stat HEAD~1", "git show --stat HEAD", "git branch -a"]
SEARCHES = ["grep -rn x .", "rg -u x", "git grep x"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "a.txt").write_text("a\n")
    (root / "src" / "b.py").write_text("b\n")
    (root / "secret.txt").write_text("secret\n")
    subprocess.run(["/bin/bash", "-ec", SCRIPT], cwd=root, check=True, stdin=subprocess.DEVNULL)
    return root


def judge(command: str, root: Path, *, deny: str = "", allow: str = "", home: str = "/nonexistent") -> Verdict:
    rules = RuleSet(deny=parse_rules([deny] if deny else [])[0], allow=parse_rules([allow] if allow else [])[0])
    policy = SessionPolicy(
        rules=rules,
        resolver=PathResolver(root=root, home=root.parent, real=os.path.realpath, matching=files_matching),
        names={},
        files=kept_files(root),
        git_safety=partial(git_safety, root),
        git_programs=lambda: configured_programs(root, {"PATH": os.environ["PATH"], "HOME": home}),
    )
    return policy.judge(running(command), PermissionMode.DEFAULT, ())


@pytest.mark.parametrize("command", [*PRINTING, *NAMES_ONLY, *SEARCHES, "git diff", "git show HEAD:a.txt"])
def test_where_nothing_is_kept_git_and_searches_need_no_permission(command: str, workspace: Path) -> None:
    verdict = judge(command, workspace)
    assert verdict.decision is Decision.ALLOW, verdict.reason


@pytest.mark.parametrize("command", [*PRINTING, *SEARCHES, "git diff"])
def test_a_denied_file_is_not_printed_by_git_or_a_search(command: str, workspace: Path) -> None:
    """Neither without approval nor because of a rule for the program."""
    verdict = judge(command, workspace, deny="Read(secret.txt)")
    assert verdict.decision is not Decision.ALLOW and "Read(secret.txt)" in verdict.reason
    program = " ".join(command.split()[:2])
    allowed = judge(command, workspace, deny="Read(secret.txt)", allow=f"Bash({program} *)")
    assert allowed.decision is not Decision.ALLOW


@pytest.mark.parametrize(
    "command", ["git show HEAD:secret.txt", "git blame secret.txt", "git diff -- secret.txt", "cat secret.txt"]
)
def test_a_denied_file_that_is_named_is_denied(command: str, workspace: Path) -> None:
    assert judge(command, workspace, deny="Read(secret.txt)").decision is Decision.DENY


@pytest.mark.parametrize(
    "command", [*NAMES_ONLY, "grep -rn x src", "git show HEAD:a.txt", "grep -rn x . --include='*.py'"]
)
def test_what_prints_no_denied_file_needs_no_permission(command: str, workspace: Path) -> None:
    verdict = judge(command, workspace, deny="Read(secret.txt)")
    assert verdict.decision is Decision.ALLOW, verdict.reason


@pytest.mark.parametrize(
    "command", ["cat src/b.py", "head -n 1 src/b.py", "grep b src/b.py", "cat src/*", "wc -l < src/b.py"]
)
def test_an_ignored_file_is_not_read_by_a_command(command: str, workspace: Path) -> None:
    (workspace / ".robotaignore").write_text("src/\n")
    verdict = judge(command, workspace)
    assert verdict.decision is Decision.DENY and ".robotaignore" in verdict.reason
    assert judge("cat a.txt", workspace).decision is Decision.ALLOW
    assert judge("cp src/b.py c", workspace, allow="Bash(cp *)").decision is Decision.ASK
    assert judge("grep -rn x .", workspace).decision is Decision.ASK
    assert judge("git log -p", workspace).decision is Decision.ASK


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("grep -rn x .", Decision.ASK),
        ("grep -rn x src", Decision.ALLOW),
        ("grep -rn x . --include='*.py'", Decision.ALLOW),
        ("grep -rn x . --exclude=.env", Decision.ALLOW),
        ("rg x", Decision.ALLOW),
        ("rg --hidden x", Decision.ASK),
        ("rg x -g .env", Decision.ASK),
        ("rg -g '' x", Decision.ASK),
        ("rg --hidden -g '!.env' x", Decision.ALLOW),
        ("rg -g '!.env' -g .env x", Decision.ASK),
        ("grep -rn x . --exclude=.env --include=.env", Decision.ASK),
        ("grep -rn x .. --exclude=src", Decision.ASK),
        ("git grep x", Decision.ALLOW),
        ("git diff", Decision.ALLOW),
    ],
)
def test_a_search_that_would_read_a_secret_is_asked_about(command: str, decision: Decision, workspace: Path) -> None:
    (workspace / ".env").write_text("KEY=1\n")
    assert judge(command, workspace).decision is decision


def test_a_search_behind_dashes_may_name_older_versions(workspace: Path) -> None:
    """Found by the gate: the first word behind `git grep --` is the pattern, the next may be a version."""
    (workspace / ".robotaignore").write_text("private/\n")
    assert judge("git grep -- x", workspace).decision is Decision.ALLOW
    assert judge("git grep -- x 'HEAD^{tree}'", workspace).decision is Decision.ASK
    assert judge("git grep x 'HEAD^{tree}'", workspace).decision is Decision.ASK


@pytest.mark.parametrize("command", ["git show --all ':!a.txt'", "git show ':!a.txt'", "git show --all HEAD:a.txt"])
def test_what_git_shows_beside_a_file_that_is_named(command: str, workspace: Path) -> None:
    """Found by the gate: a pattern is no file, and with `--all` more is shown than what is named."""
    (workspace / ".robotaignore").write_text("private/\n")
    assert judge(command, workspace).decision is Decision.ASK
    assert judge("git show HEAD:a.txt", workspace).decision is Decision.ALLOW


@pytest.mark.parametrize("command", ["rg s* words a.txt -uu", "rg -e words s* -uu", "grep -r w* words"])
def test_a_pattern_of_the_shell_in_a_search_may_become_a_directory_with_a_secret(command: str, workspace: Path) -> None:
    """Found by the gate: of `rg s*` the first name is what is searched for, and the second where."""
    (workspace / "sample").write_text("x\n")
    (workspace / "src" / ".env").write_text("KEY=1\n")
    assert judge(command, workspace).decision is Decision.ASK


def test_a_secret_that_was_written_into_a_file_of_git_is_not_printed_unasked(workspace: Path) -> None:
    (workspace / ".env").write_text("KEY=\n")
    subprocess.run(["git", "add", "-f", ".env"], cwd=workspace, check=True)
    for command in ("git diff", "git log -p", "git grep x", "grep -rn x .", "cat .env", "git show HEAD:.env"):
        assert judge(command, workspace).decision is Decision.ALLOW, "as git has it, it is published"
    (workspace / ".env").write_text("KEY=1\n")
    for command in ("git diff", "git log -p", "git show", "git grep x"):
        verdict = judge(command, workspace)
        assert verdict.decision is Decision.ASK and ".env" in verdict.reason
    assert judge("git diff -- src", workspace).decision is Decision.ALLOW
    assert judge("git log --stat", workspace).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("setting", "asked", "unasked"),
    [
        ("[diff]\n external = x", "git diff", "git diff --no-ext-diff --no-textconv"),
        ('[diff "x"]\n textconv = x', "git log -p", "git log"),
        ('[filter "x"]\n clean = x', "git status", "git log -p"),
    ],
)
def test_a_program_of_the_users_own_configuration_is_not_run_unasked(
    setting: str, asked: str, unasked: str, workspace: Path
) -> None:
    """A repository says by .gitattributes for which files it runs."""
    home = workspace.parent / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(setting)
    verdict = judge(asked, workspace, home=str(home))
    assert verdict.decision is Decision.ASK and "Your git configuration" in verdict.reason
    assert judge(unasked, workspace, home=str(home)).decision is Decision.ALLOW


def test_git_lfs_as_it_installs_itself_is_known(workspace: Path) -> None:
    home = workspace.parent / "home"
    home.mkdir()
    programs = " clean = git-lfs clean -- %f\n smudge = git-lfs smudge -- %f\n process = git-lfs filter-process\n"
    (home / ".gitconfig").write_text(f'[filter "lfs"]\n{programs}')
    assert judge("git status", workspace, home=str(home)).decision is Decision.ALLOW


def test_a_rule_for_git_does_not_hold_where_another_repository_names_programs(workspace: Path) -> None:
    docs = workspace / "docs"
    (docs / "objects").mkdir(parents=True)
    (docs / "refs").mkdir()
    (docs / "HEAD").write_text("ref: refs/heads/main\n")
    (docs / "config").write_text("[core]\n fsmonitor = ./x\n")
    for command in ("cd docs && git status", "git -C docs status"):
        assert judge(command, workspace, allow="Bash(git *)").decision is Decision.ASK
        assert judge(command, workspace, allow="Bash").decision is Decision.ALLOW
    for command in ("cd src && git status", "git -C src status"):
        assert judge(command, workspace, allow="Bash(git *)").decision is Decision.ALLOW
    assert judge("cd src && git status", workspace).decision is Decision.ALLOW


def test_a_rule_for_git_that_looks_does_not_hold_where_the_repository_names_programs(workspace: Path) -> None:
    subprocess.run(["git", "config", "diff.external", "./x"], cwd=workspace, check=True)
    for command in ("git status", "git whatchanged"):
        verdict = judge(command, workspace)
        assert verdict.decision is Decision.ASK and not verdict.suggestions
        assert judge(command, workspace, allow="Bash(git *)").decision is Decision.ASK
    assert "diff.external" in judge("git status", workspace).reason
    assert judge("git commit -m x", workspace, allow="Bash(git commit *)").decision is Decision.ALLOW


def test_a_repository_above_the_workspace_shows_only_names(workspace: Path) -> None:
    root = workspace / "src"
    assert judge("git log --oneline", root).decision is Decision.ALLOW
    verdict = judge("git log -p", root)
    assert verdict.decision is Decision.ASK and "above the workspace" in verdict.reason


@pytest.mark.parametrize(("value", "expected"), [("true", Decision.ASK), ("false", Decision.ALLOW)])
def test_git_grep_is_asked_about_where_it_would_search_submodules(
    workspace: Path, value: str, expected: Decision
) -> None:
    """What is secret in a submodule no index of the workspace names."""
    subprocess.run(["git", "config", "submodule.recurse", value], cwd=workspace, check=True)
    assert judge("git grep x", workspace).decision is expected
    assert judge("git grep --no-recurse-submodules x", workspace).decision is Decision.ALLOW
    assert judge("git status", workspace).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git grep x -- a.txt", Decision.ALLOW),
        ("git grep x -- a.txt secret.txt", Decision.ALLOW),
        ("git grep x -- ':!a.txt'", Decision.ASK),
        ("git grep x -- ':/'", Decision.ASK),
        ("git grep x -- '*.py'", Decision.ASK),
        ("git grep x -- a.txt '?*.py'", Decision.ASK),
        ("git grep", Decision.ASK),
        ("git grep --", Decision.ASK),
    ],
)
def test_git_searches_only_what_is_plainly_named(command: str, expected: Decision, workspace: Path) -> None:
    """What begins with a colon stands for other files, and a star of git for directories too."""
    assert judge(command, workspace, deny="Read(src/b.py)").decision is expected
