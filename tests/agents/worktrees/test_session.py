"""A session in a worktree of its own (`robota -w`): real git, the real command, a scripted model."""

import json
import re
from pathlib import Path

import pytest

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.sandbox.backend import SandboxKind, detect_backend
from robota.workspace.sandbox.border import build_border
from tests.agents.worktrees.repositories import (
    ANSWER,
    FREELY,
    branches,
    commanding,
    commit,
    git,
    locks,
    names_of_worktrees,
    run_in_worktree,
    worktree,
)
from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota
from tests.harness.session_log import log_text


@pytest.fixture
def robota(robota: Robota) -> Robota:
    commit(robota.workspace, a_txt="alpha\n")
    return robota


def write(path: str, content: str = "new\n") -> dict[str, object]:
    return {"calls": [call("write_to_file", path=path, content=content)]}


def test_what_the_session_changes_is_changed_in_the_worktree_only(robota: Robota) -> None:
    script(robota, write("b.txt"), ANSWER)
    done = robota("-w", "try-it", "-p", "go", "--permission-mode", "acceptEdits")
    assert (done.code, done.stdout) == (0, "Done.\n"), done.stderr
    assert (worktree(robota, "try-it") / "b.txt").read_text() == "new\n"
    assert not (robota.workspace / "b.txt").exists()
    assert git(worktree(robota, "try-it"), "branch", "--show-current") == "worktree-try-it"
    assert git(robota.workspace, "status", "--porcelain") == ""


def test_words_right_after_the_option_are_the_prompt(robota: Robota) -> None:
    """In `-p -w "words"`, the words are not the name of the worktree."""
    script(robota, {"expect": {"user": "fix the test"}, **ANSWER})
    done = robota("-p", "-w", "fix the test")
    assert (done.code, done.stdout) == (0, "Done.\n"), done.stderr


def test_a_name_without_a_prompt_says_what_it_was_taken_for(robota: Robota) -> None:
    script(robota, ANSWER)
    done = robota("-p", "-w", "words")
    assert done.code == 2 and "'words' was taken as the name of the worktree" in done.stderr


def test_a_worktree_with_changes_is_kept_and_the_user_told_what_to_do(robota: Robota) -> None:
    script(robota, write("b.txt"), ANSWER)
    done = robota("-w", "try-it", "-p", "go", "--permission-mode", "acceptEdits")
    for words in (
        "was kept: 1 changed or new file",
        str(worktree(robota, "try-it")),
        "git merge worktree-try-it",
        "robota worktree remove try-it",
    ):
        assert words in done.stderr


def test_a_worktree_without_changes_is_removed_with_its_branch(robota: Robota) -> None:
    done = run_in_worktree(robota, "x", "cat a.txt", "touch .robota-unrelated && rm .robota-unrelated")
    assert done.code == 0, done.stderr
    assert names_of_worktrees(robota) == locks(robota) == []
    assert branches(robota.workspace) == ["main"]
    assert git(robota.workspace, "worktree", "list").count("\n") == 0
    assert "was removed" in done.stderr


def test_commits_are_never_lost(robota: Robota) -> None:
    """The reference deleted them with the branch, because the files were clean."""
    done = run_in_worktree(robota, "x", "echo beta > b.txt && git add b.txt && git commit -qm beta")
    assert "kept: 1 commit that no other branch has" in done.stderr, done.stderr
    assert git(robota.workspace, "show", "worktree-x:b.txt") == "beta"
    git(robota.workspace, "merge", "--quiet", "worktree-x")
    assert (robota.workspace / "b.txt").read_text() == "beta\n"


def test_commits_on_no_branch_are_never_lost(robota: Robota) -> None:
    done = run_in_worktree(robota, "x", "git checkout -q --detach && git commit -qm loose --allow-empty")
    assert "kept: 1 commit" in done.stderr, done.stderr
    assert git(worktree(robota, "x"), "log", "-1", "--format=%s") == "loose"


def test_a_worktree_whose_commits_another_branch_has_is_removed(robota: Robota) -> None:
    done = run_in_worktree(robota, "x", "git checkout -qb feature && git commit -qm kept --allow-empty")
    assert "was removed" in done.stderr, done.stderr
    assert branches(robota.workspace) == ["feature", "main"]
    assert git(robota.workspace, "log", "-1", "--format=%s", "feature") == "kept"


@pytest.mark.parametrize(
    "begun",
    [
        "echo changed > a.txt",
        "mkdir new && touch new/file",
        "git rm -q a.txt",
        'git rev-parse HEAD > "$(git rev-parse --git-dir)/MERGE_HEAD"',
        "git config status.showUntrackedFiles no; touch untracked",
    ],
)
def test_whatever_was_begun_is_kept(robota: Robota, begun: str) -> None:
    done = run_in_worktree(robota, "x", begun)
    assert "was kept" in done.stderr, done.stderr
    assert worktree(robota, "x").is_dir()


def test_ignored_files_do_not_keep_a_worktree(robota: Robota) -> None:
    commit(robota.workspace, **{".gitignore": "build\n"})
    assert "was removed" in run_in_worktree(robota, "x", "mkdir build && touch build/out").stderr


def test_the_log_stays_with_the_repository_when_the_worktree_is_gone(robota: Robota) -> None:
    done = run_in_worktree(robota, "x", "pwd")
    assert names_of_worktrees(robota) == []
    (session,) = sessions(robota)
    assert str(worktree(robota, "x")) in log_text(session)
    assert robota("sessions", "verify", session.name).code == 0, done.stderr


def test_without_a_name_every_session_gets_a_place_of_its_own(robota: Robota) -> None:
    script(robota, write("b.txt"), ANSWER)
    for _ in range(2):
        assert robota("-p", "go", "--permission-mode", "acceptEdits", "--worktree").code == 0
    places = names_of_worktrees(robota)
    assert len(places) == 2
    assert all(re.fullmatch(r"[a-z]+-[a-z]+-[0-9a-f]{8}", name) for name in places)


def test_a_kept_worktree_is_gone_on_with_under_its_name(robota: Robota) -> None:
    run_in_worktree(robota, "x", "echo one > b.txt")
    done = run_in_worktree(robota, "x", "echo two >> b.txt")
    assert "continues in it" in done.stderr
    assert (worktree(robota, "x") / "b.txt").read_text() == "one\ntwo\n"


def test_a_repository_that_keeps_its_git_elsewhere_works_too(robota: Robota, tmp_path: Path) -> None:
    git(robota.workspace, "init", "--quiet", "--separate-git-dir", str(tmp_path / "elsewhere"))
    assert "was kept: 1 changed" in run_in_worktree(robota, "x", "touch b.txt").stderr
    assert "continues in it" in run_in_worktree(robota, "x", "rm b.txt").stderr
    assert names_of_worktrees(robota) == [] and branches(robota.workspace) == ["main"]


def test_it_begins_with_the_commit_the_repository_is_at_also_without_a_branch(robota: Robota) -> None:
    first = git(robota.workspace, "rev-parse", "HEAD")
    commit(robota.workspace, a_txt="later\n")
    git(robota.workspace, "checkout", "--quiet", first)
    done = run_in_worktree(robota, "x", "grep -q alpha a.txt && touch found")
    assert "kept: 1 changed" in done.stderr, done.stderr
    assert "was removed" in run_in_worktree(robota, "y", "true").stderr


def test_a_session_that_starts_in_a_subdirectory_works_in_the_same_one(robota: Robota) -> None:
    (robota.workspace / "pkg").mkdir()
    (robota.workspace / "pkg" / "c.txt").write_text("gamma\n")
    commit(robota.workspace)
    script(robota, write("d.txt"), ANSWER)
    done = Robota(robota.workspace / "pkg", robota.home)("-w", "x", "-p", "go", "--permission-mode", "acceptEdits")
    assert done.code == 0, done.stderr
    assert (worktree(robota, "x") / "pkg" / "d.txt").exists()
    assert len(list((robota.workspace / "pkg/.robota/sessions").iterdir())) == 1


def test_searching_works_although_the_place_is_hidden_from_git(robota: Robota) -> None:
    search, find = call("search_files", path=".", regex="alpha"), call("glob", pattern="*.txt")
    script(robota, {"calls": [search, find]}, ANSWER)
    done = robota("-w", "x", "-p", "go", "--output-format", "stream-json", "--verbose")
    results = [json.loads(line) for line in done.stdout.splitlines() if '"tool_result"' in line]
    assert json.dumps(results).count("a.txt") >= 2, done.stdout


def test_files_in_a_worktree_are_no_protected_files(robota: Robota) -> None:
    """It lies in `.robota`, which is protected; what counts is the way from the worktree on."""
    script(robota, write("src/new.py"), write(".robota/settings.json", "{}"), ANSWER)
    done = robota("-w", "x", "-p", "go", "--permission-mode", "acceptEdits", "--output-format", "json")
    denied = json.loads(done.stdout)["permission_denials"]
    refused = worktree(robota, "x") / ".robota/settings.json"
    assert [denial["tool_input"]["file_path"] for denial in denied] == [str(refused)], done.stdout
    assert not refused.exists() and (worktree(robota, "x") / "src/new.py").exists()


def test_git_of_the_repository_cannot_be_written_from_the_sandbox_of_a_worktree(robota: Robota) -> None:
    """The `.git` of a worktree only points to git's directory, which is outside the worktree and read-only."""
    border = build_border(HeldRoot(robota.workspace), robota.home, home=robota.home)
    if detect_backend(border).kind is SandboxKind.NONE:
        pytest.skip("no sandbox is available")
    run_in_worktree(robota, "x", "touch stay")
    hook = robota.workspace / ".git/hooks/post-checkout"
    attempts = [f"echo evil > {hook}", 'echo evil > "$(git rev-parse --git-dir)/config.worktree"', "echo x > .git"]
    options = ("--allowed-tools", "Bash")
    run_in_worktree(robota, "x", *attempts, options=options)
    assert not hook.exists()
    assert not list((robota.workspace / ".git/worktrees").rglob("config.worktree"))
    assert (worktree(robota, "x") / ".git").read_text().startswith("gitdir: ")


def test_ignored_files_that_the_repository_lists_are_copied(robota: Robota) -> None:
    listed = "# for work\n.env\n*.local\nlink\n/a.txt\n"
    commit(robota.workspace, **{".gitignore": ".env\n*.local\nlink\nbig\n", ".worktreeinclude": listed})
    (robota.workspace / ".env").write_text("KEY=1\n")
    (robota.workspace / ".env").chmod(0o600)
    (robota.workspace / "deep").mkdir()
    (robota.workspace / "deep/x.local").write_text("local\n")
    (robota.workspace / "link").symlink_to("/etc/passwd")
    (robota.workspace / "big").write_text("not listed")
    assert robota("trust", "--yes").code == 0
    done = run_in_worktree(robota, "x", "touch stay")
    place = worktree(robota, "x")
    assert (place / ".env").read_text() == "KEY=1\n"
    assert (place / ".env").stat().st_mode & 0o777 == 0o600
    assert (place / "deep/x.local").read_text() == "local\n"
    assert not (place / "link").exists() and not (place / "big").exists()
    assert "Not copied to the worktree: link" in done.stderr


def test_nothing_is_copied_for_a_repository_that_is_not_trusted(robota: Robota) -> None:
    commit(robota.workspace, **{".gitignore": ".env\n", ".worktreeinclude": ".env\n"})
    (robota.workspace / ".env").write_text("KEY=1\n")
    run_in_worktree(robota, "x", "touch stay")
    assert not (worktree(robota, "x") / ".env").exists()


def test_a_copied_file_never_leaves_the_worktree_through_a_link(robota: Robota, tmp_path: Path) -> None:
    """The last commit has a link where the repository has a directory by now."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (robota.workspace / "conf").symlink_to(outside)
    commit(robota.workspace, **{".gitignore": ".env\n", ".worktreeinclude": ".env\n"})
    (robota.workspace / "conf").unlink()
    (robota.workspace / "conf").mkdir()
    (robota.workspace / "conf/.env").write_text("KEY=1\n")
    robota("trust", "--yes")
    done = run_in_worktree(robota, "x", "touch stay")
    assert "conf/.env" in done.stderr
    assert list(outside.iterdir()) == []


def test_json_output_has_the_answer_and_the_worktree_is_told_on_stderr(robota: Robota) -> None:
    script(robota, *commanding("touch b"))
    done = robota("-w", "x", *FREELY, "-p", "go", "--output-format", "json")
    assert json.loads(done.stdout)["result"] == "Done."
    assert "The worktree x was kept" in done.stderr
