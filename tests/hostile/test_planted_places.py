"""What Robota writes in a workspace is not redirected by anything that a repository contains.

Whatever stands there (a link to a directory or a file elsewhere, one that leads nowhere, a pipe, a directory, a file),
nothing outside is changed or read, nothing waits, and the session says what it could not use or does without.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.agents.worktrees.errors import WorktreeError
from robota.agents.worktrees.lock import take_lock
from robota.config.settings.granted_rules import keep_rules
from robota.log.artifacts import artifact_name, artifact_path, keep_artifact, keep_artifact_file
from robota.log.chain.writer import SessionLog
from robota.log.errors import ArtifactMissing, LogError
from tests.cli.scripts import call, script
from tests.harness.cli import Robota

DATA = b"what a command printed"
SECRET = "the user's own"


def to_directory(place: Path, outside: Path) -> None:
    place.symlink_to(outside)


def to_file(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "settings.json")


def to_nothing(place: Path, outside: Path) -> None:
    place.symlink_to(outside / "made-by-nobody")


def pipe(place: Path, outside: Path) -> None:
    os.mkfifo(place)


def directory(place: Path, outside: Path) -> None:
    place.mkdir()
    (place / "kept.txt").write_text("of the repository")


def file(place: Path, outside: Path) -> None:
    place.write_text("of the repository")


PLANTED = [to_directory, to_file, to_nothing, pipe, directory, file]
Plant = Callable[[Path, Path], None]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    place.mkdir()
    (place / "settings.json").write_text(SECRET)
    return place


def assert_untouched(outside: Path) -> None:
    assert [path.name for path in outside.iterdir()] == ["settings.json"]
    assert (outside / "settings.json").read_text() == SECRET


@pytest.mark.parametrize("plant", PLANTED)
@pytest.mark.parametrize(
    "name",
    [
        ".robota",
        ".robota/.gitignore",
        ".robota/sessions",
        ".robota/sessions/.gitignore",
        ".robota/sessions/mine",
        ".robota/sessions/mine/log.jsonl",
        ".robota/settings.local.json",
    ],
)
def test_a_session_writes_through_nothing(robota: Robota, outside: Path, name: str, plant: Plant) -> None:
    """Its log goes elsewhere, or the run ends with a reason; a command's output is kept or not."""
    place = robota.workspace / name
    place.parent.mkdir(parents=True, exist_ok=True)
    plant(place, outside)
    before = sorted(path.name for path in place.iterdir()) if plant is directory else None
    script(robota, {"calls": [call("execute_command", command="echo printed")]}, {"text": "done"})
    done = robota("-p", "go", "--session-id", "mine")
    assert done.code == 0 or (done.stderr.strip() and "Traceback" not in done.stderr), done.stderr
    assert_untouched(outside)
    if plant is file:
        assert place.read_text() == "of the repository"
    if before is not None:
        assert set(before) <= {path.name for path in place.iterdir()}


@pytest.mark.parametrize("plant", PLANTED)
@pytest.mark.parametrize("name", ["artifacts", "artifacts/{}", "artifacts/{}.part"])
@pytest.mark.parametrize("moves", [True, False])
def test_outputs_are_kept_through_nothing(tmp_path: Path, outside: Path, name: str, plant: Plant, moves: bool) -> None:
    kept = tmp_path / "session" / "artifacts"
    place = tmp_path / "session" / name.format(artifact_name(DATA))
    place.parent.mkdir(parents=True)
    plant(place, outside)
    source = tmp_path / "output"
    source.write_bytes(DATA)
    try:
        found, _ = keep_artifact_file(kept, source) if moves else keep_artifact(kept, DATA)
    except LogError as error:
        assert "log was not changed" in str(error)
    else:
        assert artifact_path(kept, found).read_bytes() == DATA and not artifact_path(kept, found).is_symlink()
    assert_untouched(outside)


@pytest.mark.parametrize("plant", [to_file, to_nothing, pipe, directory])
def test_what_was_kept_is_not_read_through_a_link(tmp_path: Path, outside: Path, plant: Plant) -> None:
    """A session that a repository brought could otherwise show files of the user."""
    kept = tmp_path / "artifacts"
    kept.mkdir()
    plant(kept / ("a" * 32), outside)
    with pytest.raises(ArtifactMissing):
        artifact_path(kept, "a" * 32)
    (outside / ("b" * 32)).write_text(SECRET)
    (tmp_path / "linked").symlink_to(outside)
    with pytest.raises(ArtifactMissing):
        artifact_path(tmp_path / "linked", "b" * 32)


@pytest.mark.parametrize("plant", PLANTED)
@pytest.mark.parametrize("name", ["", "log.jsonl"])
def test_a_log_is_made_through_nothing(tmp_path: Path, outside: Path, name: str, plant: Plant) -> None:
    place = tmp_path / "sessions" / "mine" / name
    place.parent.mkdir(parents=True)
    plant(place, outside)
    with pytest.raises(LogError):
        SessionLog.create(tmp_path / "sessions" / "mine", lambda: 1)
    assert_untouched(outside)


@pytest.mark.parametrize("plant", [to_file, to_nothing, pipe, directory])
def test_a_worktree_is_locked_by_a_plain_file_only(tmp_path: Path, outside: Path, plant: Plant) -> None:
    plant(tmp_path / ".feature.lock", outside)
    with pytest.raises(WorktreeError, match="Nothing was changed"):
        take_lock(tmp_path, "feature")
    assert_untouched(outside)


@pytest.mark.parametrize("plant", PLANTED)
@pytest.mark.parametrize("name", [".robota/worktrees", ".robota/worktrees/feature", ".robota/worktrees/.gitignore"])
def test_a_worktree_is_made_through_nothing(robota: Robota, outside: Path, name: str, plant: Plant) -> None:
    root = robota.workspace
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=b", *words], cwd=root, check=True)
    place = root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    plant(place, outside)
    script(robota, {"text": "done"})
    done = robota("-w", "feature", "-p", "go")
    assert done.code == 0 or (done.stderr.strip() and "Traceback" not in done.stderr), done.stderr
    assert_untouched(outside)


@pytest.mark.parametrize("plant", PLANTED)
def test_rules_are_kept_through_nothing(tmp_path: Path, outside: Path, plant: Plant) -> None:
    root = tmp_path / "clone"
    (root / ".robota").mkdir(parents=True)
    plant(root / ".robota" / "settings.local.json", outside)
    said = keep_rules("project", ["Bash(npm test)"], root, {"ROBOTA_HOME": str(tmp_path / "home")})
    assert "were not saved" in said
    assert_untouched(outside)


@pytest.mark.parametrize("plant", [to_directory, to_nothing])
@pytest.mark.parametrize(
    "name", [".robota", ".robota/.gitignore", ".robota/sessions", ".robota/sessions/x", ".robota/skills"]
)
def test_commands_mend_and_write_through_nothing(robota: Robota, outside: Path, name: str, plant: Plant) -> None:
    (outside / "log.jsonl").write_text("a log of somebody else")
    (outside / "log.jsonl").chmod(0o644)
    place = robota.workspace / name
    (robota.workspace / ".robota" / "sessions").mkdir(parents=True)
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(exist_ok=True)
    plant(place, outside)
    for arguments in ("doctor --fix", "skills new mine"):
        assert "Traceback" not in robota(*arguments.split()).stderr
    assert (outside / "log.jsonl").stat().st_mode & 0o777 == 0o644
    (outside / "log.jsonl").unlink()
    assert_untouched(outside)


def endless(place: Path, outside: Path) -> None:
    place.symlink_to("/dev/zero")


def huge(place: Path, outside: Path) -> None:
    with place.open("wb") as stream:
        stream.truncate(20 << 30)


@pytest.mark.parametrize("plant", [to_file, pipe, endless, huge])
def test_a_trace_is_read_through_nothing(robota: Robota, outside: Path, plant: Plant) -> None:
    (robota.workspace / ".orchestration").mkdir()
    plant(robota.workspace / ".orchestration/agent_trace.jsonl", outside)
    for action in ("verify", "head", "export", "note"):
        done = robota("trace", action)
        assert done.code == 1 and SECRET not in done.stdout, action
        assert "cannot be read" in done.stderr or "No note was written" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("name", "arguments", "plant"),
    [
        (".robota/policy-tests.yaml", "policy test", huge),
        (".robota/sessions/x/log.jsonl", "intents status", pipe),
        (".robota/sessions/x/log.jsonl", "intents status", huge),
        (".orchestration/AGENT.md", "intents complete INT-1 --yes", pipe),
    ],
)
def test_nothing_of_a_repository_keeps_a_command_waiting_or_fills_the_memory(
    robota: Robota, outside: Path, name: str, arguments: str, plant: Plant
) -> None:
    intents = robota.workspace / ".orchestration/active_intents.yaml"
    intents.parent.mkdir()
    intents.write_text(
        "active_intents:\n"
        "- {id: INT-1, name: x, status: IN_PROGRESS, owned_scope: [x], acceptance_criteria: ['run: false']}\n"
    )
    (robota.workspace / name).parent.mkdir(parents=True, exist_ok=True)
    plant(robota.workspace / name, outside)
    done = robota(*arguments.split())
    assert done.code in (0, 1, 2) and "Traceback" not in done.stderr, done.stderr
