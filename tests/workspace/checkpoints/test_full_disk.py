"""A restore on a disk that is full: everything stays as it was."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import CheckpointStore
from tests.workspace.checkpoints.restoring import restore
from tests.workspace.checkpoints.trees import tree_of

NEW_MOUNTS = ("unshare", "--map-root-user", "--mount")


def full_disk_story(place: Path) -> None:
    """On a small disk of its own: files are replaced by smaller ones, the disk is filled, and the old ones wanted."""
    workspace = place / "small"
    workspace.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(workspace)], check=True)
    store = CheckpointStore(place / "store", workspace, os.environ)
    for number in range(4):
        (workspace / f"f{number}").write_bytes(os.urandom(60_000))
    big = store.capture().id
    for number in range(4):
        (workspace / f"f{number}").write_text("small")
    (workspace / "made").write_text("new")
    (workspace / "filling").write_bytes(b"x" * 380_000)
    before = tree_of(workspace)
    with pytest.raises(CheckpointError, match="Nothing was changed"):
        restore(store, big, ["f0", "f1", "f2", "f3", "made"])
    assert tree_of(workspace) == before
    assert [path.name for path in workspace.iterdir() if path.name.startswith(".robota")] == []
    (workspace / "filling").unlink()
    restore(store, big)
    assert (workspace / "f3").stat().st_size == 60_000 and not (workspace / "made").exists()


@pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.run([*NEW_MOUNTS, "true"], capture_output=True).returncode != 0,
    reason="no mounts of our own here",
)
def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path) -> None:
    run = (
        "from pathlib import Path; import sys; "
        "from tests.workspace.checkpoints.test_full_disk import full_disk_story; full_disk_story(Path(sys.argv[1]))"
    )
    ended = subprocess.run(
        [*NEW_MOUNTS, sys.executable, "-c", run, str(tmp_path)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
