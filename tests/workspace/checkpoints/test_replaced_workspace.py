"""A restore writes into the directory that the session holds, wherever its path leads by then."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.restore import apply_changes
from robota.workspace.checkpoints.rewind import carry_out, plan_restore
from robota.workspace.checkpoints.store import CheckpointStore
from robota.workspace.files.confined_paths import HeldRoot
from tests.workspace.checkpoints.trees import tree_of


def replaced(workspace: Path, how: str) -> Path:
    """Moves the workspace away and puts another directory, or a link to it, in its place; returns the moved one."""
    other = workspace.parent / "other"
    other.mkdir()
    (other / "a").write_text("of somebody else")
    moved = workspace.rename(workspace.parent / "moved")
    if how == "link":
        workspace.symlink_to(other)
    else:
        other.rename(workspace)
    return moved


@pytest.mark.parametrize("how", ["link", "directory"])
def test_nothing_is_restored_into_a_directory_that_took_the_place_of_the_workspace(
    tmp_path: Path, workspace: Path, how: str
) -> None:
    with closing(HeldRoot(workspace)) as held:
        store = CheckpointStore(tmp_path / "store", held, os.environ)
        (workspace / "a").write_text("one")
        first = store.capture().id
        (workspace / "a").write_text("two")
        plan = plan_restore(store, first)
        moved = replaced(workspace, how)
        with pytest.raises(CheckpointError, match="no longer the directory"):
            carry_out(store, plan)
        assert (moved / "a").read_text() == "two"
        assert tree_of(workspace.resolve()).keys() == {b"a"} and (workspace / "a").read_text() == "of somebody else"


@pytest.mark.parametrize("how", ["link", "directory"])
def test_a_workspace_replaced_in_the_middle_of_a_restore_gets_nothing(
    tmp_path: Path, workspace: Path, how: str
) -> None:
    store = CheckpointStore(tmp_path / "store", workspace, os.environ)
    (workspace / "a").write_text("one")
    first = store.capture().id
    (workspace / "a").write_text("two")
    plan = plan_restore(store, first)
    with store.opened() as opened, opened.top() as top:
        moved = replaced(workspace, how)
        apply_changes(opened.directory, opened.git, top, plan.changes, opened.details(first))
    assert (moved / "a").read_text() == "one" and tree_of(moved).keys() == {b"a"}
    assert (workspace / "a").read_text() == "of somebody else"
