"""`scripts/release` in a scratch repository: it tags what is in order, and refuses everything else before it tags."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = "test:\n\t@{test}\nbench:\n\t@{bench}\n"
BUILD = '#!/bin/sh\nmkdir -p "$1"\n{command}\n'


def git(place: Path, *words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
    return subprocess.run(["git", *who, *words], cwd=place, capture_output=True, text=True, check=True).stdout.strip()


def commit(place: Path) -> None:
    git(place, "add", "-A")
    git(place, "commit", "-qm", "change", "--allow-empty")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A repository with the real script, in which every check passes at once."""
    place = tmp_path / "scratch"
    (place / "scripts").mkdir(parents=True)
    (place / "src/robota").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/release", place / "scripts/release")
    (place / "src/robota/version.py").write_text('"""The version."""\n\nVERSION = "1.2.3"\n')
    (place / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.3, 2026-11-17\n\n- All.\n")
    (place / ".gitignore").write_text("dist\nbuild\n")
    (place / "Makefile").write_text(MAKEFILE.format(test="true", bench="true"))
    (place / "scripts/build").write_text(BUILD.format(command='echo same >"$1/robota.whl"'))
    (place / "scripts/build").chmod(0o755)
    git(place.parent, "init", "-q", "-b", "main", str(place))
    commit(place)
    return place


def release(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # The identity of the tag; what the user has configured must not matter.
    identity = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "A")
    addresses = dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "a@example.invalid")
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(place.parent), **identity, **addresses}
    command = [str(place / "scripts/release"), *words]
    return subprocess.run(command, cwd=place.parent, env=environment, capture_output=True, text=True, check=False)


def test_what_is_in_order_is_built_and_tagged(scratch: Path) -> None:
    done = release(scratch, "1.2.3")
    assert done.returncode == 0, done.stderr
    assert git(scratch, "cat-file", "-t", "v1.2.3") == "tag"
    assert "robota.whl" in (scratch / "dist/SHA256SUMS").read_text()
    again = release(scratch, "1.2.3")
    assert again.returncode == 1 and "already a tag v1.2.3" in again.stderr


def no_version(place: Path) -> None:
    (place / "src/robota/version.py").write_text("")
    commit(place)


def uncommitted(place: Path) -> None:
    (place / "new.txt").write_text("x")


def no_branch(place: Path) -> None:
    git(place, "checkout", "-q", "--detach")


def other_branch(place: Path) -> None:
    git(place, "checkout", "-qb", "feature")


def no_change_log(place: Path) -> None:
    (place / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.3, some day\n")
    commit(place)


def red_tests(place: Path) -> None:
    (place / "Makefile").write_text(MAKEFILE.format(test="false", bench="true"))
    commit(place)


def slow(place: Path) -> None:
    (place / "Makefile").write_text(MAKEFILE.format(test="true", bench="false"))
    commit(place)


def failing_build(place: Path) -> None:
    (place / "scripts/build").write_text(BUILD.format(command="exit 7"))
    commit(place)


def changing_build(place: Path) -> None:
    (place / "scripts/build").write_text(BUILD.format(command='echo "$1" >"$1/robota.whl"'))
    commit(place)


REFUSED: dict[Callable[[Path], None], str] = {
    no_version: "names no version",
    uncommitted: "not committed",
    no_branch: "no branch is checked out",
    other_branch: "the branch is feature, not main",
    no_change_log: "CHANGELOG.md has no line",
    red_tests: "make test is not green",
    slow: "a speed target is missed",
    failing_build: "the build failed",
    changing_build: "robota.whl differs when it is built again",
}


@pytest.mark.parametrize("spoil", REFUSED, ids=lambda spoil: spoil.__name__)
def test_what_is_not_is_refused_and_nothing_is_tagged(scratch: Path, spoil: Callable[[Path], None]) -> None:
    spoil(scratch)
    done = release(scratch, "1.2.3")
    assert done.returncode == 1 and REFUSED[spoil] in done.stderr and "Nothing was tagged." in done.stderr
    assert git(scratch, "tag") == ""


@pytest.mark.parametrize("words", [(), ("9.9",), ("v1.2.3",)])
def test_the_version_must_be_said(scratch: Path, words: tuple[str, ...]) -> None:
    done = release(scratch, *words)
    assert done.returncode == 1 and "say the version that is meant: scripts/release 1.2.3" in done.stderr
