"""A restore and a call that may change files exclude one another."""

import asyncio
from pathlib import Path

import pytest

from robota.workspace.checkpoints.at_work import at_work, nobody_at_work
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.store import CheckpointStore
from tests.workspace.checkpoints.restoring import restore


def test_no_restore_while_calls_are_at_work(store: CheckpointStore, workspace: Path, tmp_path: Path) -> None:
    (workspace / "a").write_text("old")
    first = store.capture().id
    (workspace / "a").write_text("new")

    async def work() -> None:
        async with at_work(tmp_path / "store"), at_work(tmp_path / "store"):
            with pytest.raises(CheckpointError, match=r"A call runs in this workspace.* Nothing was restored"):
                restore(store, first)
            assert (workspace / "a").read_text() == "new"

    asyncio.run(work())
    restore(store, first)
    assert (workspace / "a").read_text() == "old"


def test_a_call_waits_for_a_restore_that_is_under_way(tmp_path: Path) -> None:
    order: list[str] = []

    async def work() -> None:
        async with at_work(tmp_path):
            order.append("the call runs")

    async def story() -> None:
        with nobody_at_work(tmp_path):
            call = asyncio.create_task(work())
            await asyncio.sleep(0)
            order.append("files are restored")
        await call

    asyncio.run(story())
    assert order == ["files are restored", "the call runs"]


def test_a_call_runs_where_there_can_be_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ran: list[bool] = []

    async def work() -> None:
        async with at_work(tmp_path / "file/store"):
            ran.append(True)

    asyncio.run(work())
    assert ran == [True]
