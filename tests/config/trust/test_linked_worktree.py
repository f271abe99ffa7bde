"""A worktree has its repository's trust only by proof from both sides and for the same content."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from robota.config.settings.load import load_settings
from robota.config.trust.decision import Trust, TrustState, remember
from robota.config.trust.linked_worktree import same_place_in_main
from tests.agents.worktrees.repositories import commit, git, run_in_worktree, worktree
from tests.harness.cli import Robota

DENY = {"permissions": {"deny": ["Bash(echo secret)"]}}


@pytest.fixture
def robota(robota: Robota) -> Robota:
    """A trusted repository that brings an allow rule."""
    brought = {"permissions": {"allow": ["Bash(touch *)"]}}
    (robota.workspace / ".claude").mkdir()
    (robota.workspace / ".claude/settings.json").write_text(json.dumps(brought))
    commit(robota.workspace, a_txt="alpha\n")
    assert robota("trust", "--yes").code == 0
    return robota


def linked(robota: Robota, place: Path, branch: str = "side") -> Path:
    git(robota.workspace, "worktree", "add", "--quiet", "-b", branch, str(place))
    return place.resolve()


def trust_in(place: Path) -> Trust:
    trust = load_settings(place, os.environ).trust
    assert trust is not None
    return trust


def test_a_session_in_a_worktree_of_a_trusted_repository_has_its_settings(robota: Robota) -> None:
    done = run_in_worktree(robota, "x", "touch allowed", options=())
    assert (worktree(robota, "x") / "allowed").exists(), done.stderr
    assert "ignored" not in done.stderr


def test_other_content_than_was_trusted_is_not_trusted_in_a_worktree(robota: Robota) -> None:
    more = {"permissions": {"allow": ["Bash(touch *)", "Bash(rm *)"]}}
    (robota.workspace / ".claude/settings.json").write_text(json.dumps(more))
    commit(robota.workspace)
    done = run_in_worktree(robota, "x", "touch allowed", options=())
    assert "so its configuration was ignored" in done.stderr
    assert not (worktree(robota, "x") / "allowed").exists()


def test_revoking_trust_takes_it_from_the_worktrees_too(robota: Robota, tmp_path: Path) -> None:
    place = linked(robota, tmp_path / "side")
    assert trust_in(place).is_given
    robota("trust", "--revoke")
    assert trust_in(place).state is TrustState.UNTRUSTED


def test_an_answer_about_the_worktree_itself_comes_first(robota: Robota, tmp_path: Path) -> None:
    place = linked(robota, tmp_path / "side")
    remember("no", trust_in(place).snapshot, os.environ, 1)
    assert trust_in(place).state is TrustState.REFUSED


def test_the_proof_holds_below_the_top(robota: Robota, tmp_path: Path) -> None:
    place = linked(robota, tmp_path / "side")
    (place / "deep/er").mkdir(parents=True)
    assert same_place_in_main(place / "deep/er") == robota.workspace.resolve() / "deep/er"
    assert same_place_in_main(robota.workspace) is None


def forged_pointer(robota: Robota, real: Path, fake: Path) -> None:
    """The `.git` of a real worktree, copied: the repository names the real one."""
    shutil.copy(real / ".git", fake / ".git")


def forged_commondir(robota: Robota, real: Path, fake: Path) -> None:
    """Its own git directory says that it belongs to the trusted repository."""
    own = fake / "gitdir"
    own.mkdir()
    (own / "commondir").write_text(f"{robota.workspace}/.git\n")
    (own / "gitdir").write_text(f"{fake}/.git\n")
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (fake / ".git").write_text(f"gitdir: {own}\n")


def forged_place(robota: Robota, real: Path, fake: Path) -> None:
    """The same, in a directory that is called `worktrees`."""
    own = fake / "worktrees/x"
    own.mkdir(parents=True)
    (own / "commondir").write_text(f"{robota.workspace}/.git\n")
    (own / "gitdir").write_text(f"{fake}/.git\n")
    (fake / ".git").write_text(f"gitdir: {own}\n")


def linked_pointer(robota: Robota, real: Path, fake: Path) -> None:
    (fake / ".git").symlink_to(real / ".git")


def linked_git_directory(robota: Robota, real: Path, fake: Path) -> None:
    (fake / ".git").symlink_to(robota.workspace / ".git")


def garbage(robota: Robota, real: Path, fake: Path) -> None:
    (fake / ".git").write_bytes(b"gitdir: \0\xff" * 9999)


def pipe(robota: Robota, real: Path, fake: Path) -> None:
    os.mkfifo(fake / ".git")


FORGERIES = [forged_pointer, forged_commondir, forged_place, linked_pointer, linked_git_directory, garbage, pipe]


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: str(forge.__name__))
def test_a_forged_worktree_is_not_trusted(robota: Robota, tmp_path: Path, forge: object) -> None:
    """Its content is what the user trusted, but the repository does not know this directory."""
    real, fake = linked(robota, tmp_path / "real"), tmp_path.resolve() / "fake"
    shutil.copytree(robota.workspace / ".claude", fake / ".claude")
    assert callable(forge)
    forge(robota, real, fake)
    assert same_place_in_main(fake) is None
    assert trust_in(fake).state is TrustState.UNTRUSTED
    assert trust_in(real).is_given


def test_a_worktree_that_was_copied_elsewhere_is_not_trusted(robota: Robota, tmp_path: Path) -> None:
    place = linked(robota, tmp_path / "side")
    shutil.copytree(place, tmp_path / "copy")
    assert not trust_in((tmp_path / "copy").resolve()).is_given


def keep_local_settings(robota: Robota, settings: dict[str, Any]) -> None:
    (robota.workspace / ".robota").mkdir(exist_ok=True)
    (robota.workspace / ".robota/.gitignore").write_text("*\n")
    (robota.workspace / ".robota/settings.local.json").write_text(json.dumps(settings))
    robota("trust", "--yes")


def test_rules_of_the_user_that_git_ignores_hold_in_the_worktree(robota: Robota) -> None:
    """A denial in the local settings must not be lost only because git does not check it out."""
    keep_local_settings(robota, DENY)
    done = run_in_worktree(robota, "x", "echo secret", options=("--allowed-tools", "Bash", "--verbose"))
    assert "Bash(echo secret)" in done.stderr, done.stderr
    assert "was removed" in done.stderr, done.stderr
    allowed = run_in_worktree(robota, "y", "touch allowed", options=())
    assert (worktree(robota, "y") / "allowed").exists(), allowed.stderr


def test_rules_that_the_user_made_later_hold_in_a_worktree_that_was_kept(robota: Robota) -> None:
    run_in_worktree(robota, "x", "touch stay", options=())
    for later in (DENY, {"permissions": {"deny": ["Bash(echo other)"]}}):
        keep_local_settings(robota, later)
        (rule,) = later["permissions"]["deny"]
        said = rule.removeprefix("Bash(").removesuffix(")")
        done = run_in_worktree(robota, "x", said, options=("--allowed-tools", "Bash", "--verbose"))
        assert rule in done.stderr and "ignored" not in done.stderr, done.stderr


def test_require_trust_refuses_before_anything_is_made(robota: Robota) -> None:
    robota("trust", "--revoke")
    done = run_in_worktree(robota, "x", "true", options=("--require-trust",))
    assert done.code == 3 and not (robota.workspace / ".robota/worktrees").exists()
