"""A process that is killed while it goes back: whatever it had done is known, and can be taken back."""

import asyncio
import os
from pathlib import Path

import pytest

from robota.engine.rewind.rewinder import Rewinder
from robota.log.chain.reader import load
from robota.log.chain.writer import SessionLog
from robota.log.kinds.calls import CheckpointRecord
from robota.log.kinds.conversation import MessageRecord, TurnRecord
from robota.log.kinds.session import TaskRecord
from robota.log.replay.rewind_points import rewind_history
from robota.log.replay.session import replay
from robota.protocol.commands import RewindTo, UndoRewind
from robota.protocol.conversation import TextBlock, UserTurn
from robota.protocol.message import Message
from robota.workspace.checkpoints.store import CheckpointStore
from tests.workspace.checkpoints.dying import run_until
from tests.workspace.checkpoints.trees import tree_of


class Place:
    """A session with one prompt and one change, which no process has open."""

    def __init__(self, directory: Path) -> None:
        self.workspace = directory / "work"
        self.workspace.mkdir()
        self.session = directory / "session"
        self.store = CheckpointStore(directory / "store", self.workspace, os.environ)
        log = SessionLog.create(self.session, lambda: 1)
        log.append(TaskRecord(task_id="t", mode="code"))
        log.append(MessageRecord(task_id="t", message=Message(ts=1, type="say", say="text", text="go")))
        log.append(TurnRecord(task_id="t", turn=UserTurn(content=(TextBlock(text="go"),))))
        for name in ("a", "b"):
            (self.workspace / name).write_text("old")
        self.old = tree_of(self.workspace)
        checkpoint = self.store.capture().id
        log.append(CheckpointRecord(task_id="t", checkpoint=checkpoint, call_id="c", tool="edit_file"))
        (self.workspace / "a").write_text("new")
        (self.workspace / "b").unlink()
        (self.workspace / "c").write_text("new")
        self.new = tree_of(self.workspace)
        log.close()

    def go(self, order: RewindTo | UndoRewind) -> None:
        log, _ = SessionLog.open(self.session, lambda: 1)
        asyncio.run(Rewinder(log.path, log, lambda: self.store).carry_out(order))
        log.close()

    @property
    def has_prompt(self) -> bool:
        return bool(replay(load(self.session / "log.jsonl").records).tasks)


@pytest.mark.parametrize("moment", range(1, 60, 3))
def test_killed_while_going_back(tmp_path: Path, moment: int) -> None:
    place = Place(tmp_path)
    run_until(moment, lambda: place.go(RewindTo(number=1)))
    place.store.capture()  # whoever comes next puts in order what was left
    files = tree_of(place.workspace)
    assert files in (place.old, place.new)
    assert place.has_prompt or files == place.old, "the conversation goes back only after the files"
    if rewind_history(load(place.session / "log.jsonl").records).undo:
        place.go(UndoRewind())
    assert (tree_of(place.workspace), place.has_prompt) == (place.new, True)
