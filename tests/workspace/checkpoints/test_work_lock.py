"""A restore and a call that may change files exclude one another."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import CheckpointStore
from robota.workspace.checkpoints.work_lock import lock_for_change, lock_for_restore
from tests.workspace.checkpoints.restoring import restore


def test_no_restore_while_calls_are_at_work(store: CheckpointStore, workspace: Path, tmp_path: Path) -> None:
    (workspace / "a").write_text("old")
    first = store.capture().id
    (workspace / "a").write_text("new")
    calls = [lock_for_change(tmp_path / "store"), lock_for_change(tmp_path / "store")]
    for call in calls:
        with pytest.raises(CheckpointError, match=r"A tool call is running in this workspace.* Nothing was restored"):
            restore(store, first)
        assert (workspace / "a").read_text() == "new"
        assert call is not None
        call.close()
    restore(store, first)
    assert (workspace / "a").read_text() == "old"


def test_a_call_waits_for_a_restore_that_is_under_way(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as threads:
        with lock_for_restore(tmp_path):
            waiting = threads.submit(lock_for_change, tmp_path)
            assert not waiting.done()
        call = waiting.result()
    assert call is not None
    with call, pytest.raises(CheckpointError), lock_for_restore(tmp_path):
        pass


def test_a_call_runs_where_there_can_be_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert lock_for_change(tmp_path / "file/store") is None
