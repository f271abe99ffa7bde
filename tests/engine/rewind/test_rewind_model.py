"""Any interleaving of prompts, edits, condensing, going back, undo, redo and forks equals a simple model."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.contracts.rewind import RewindError
from robota.engine.rewind.rewinder import Rewinder
from robota.log.chain.reader import load
from robota.log.chain.writer import SessionLog
from robota.log.kinds.calls import CheckpointRecord
from robota.log.kinds.conversation import CondenseRecord, MessageRecord, RestoreRecord, TurnRecord
from robota.log.kinds.session import TaskRecord
from robota.log.record import Record
from robota.log.replay.rewind_points import rewind_history
from robota.log.replay.session import replay
from robota.protocol.commands import RedoRewind, RewindTo, UndoRewind
from robota.protocol.conversation import TextBlock, UserTurn
from robota.protocol.message import Message
from robota.protocol.rewind import RewindScope
from robota.workspace.checkpoints.store import CheckpointStore
from tests.workspace.checkpoints.trees import Tree, tree_of

NAMES = ("a", "b", "d/x")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("prompt")),
        st.tuples(st.just("edit"), st.sampled_from(NAMES), st.integers(0, 3)),
        st.tuples(st.just("own edit"), st.sampled_from(NAMES), st.integers(4, 6)),
        st.tuples(st.just("condense")),
        st.tuples(st.just("rewind"), st.integers(0, 9), st.sampled_from(list(RewindScope))),
        st.tuples(st.just("undo")),
        st.tuples(st.just("redo")),
        st.tuples(st.just("fork"), st.integers(0, 9)),
    ),
    max_size=14,
)


# A prompt, a condensation up to so many prompts, or one that was taken back: what a conversation is made of.
Happening = tuple[str, str, int]


class Way(msgspec.Struct, frozen=True):
    """How a way back is taken back: the conversation before it, if it changed, and the files that it changed."""

    conversation: tuple[Happening, ...] | None
    files: dict[bytes, tuple[str, bytes] | None]


class Model:
    """Whole states are kept, and nothing is shared between them."""

    def __init__(self) -> None:
        self.conversation: tuple[Happening, ...] = ()
        self.files: Tree = {}
        self.before: list[tuple[Happening, ...]] = []
        self.files_at: list[Tree | None] = []  # of each prompt; absent until something is known to change them
        self.undo: list[Way] = []
        self.redo: list[Way] = []

    def seen(self) -> None:
        """A checkpoint tells how the files have been since the prompts before it."""
        self.files_at = [dict(self.files) if known is None else known for known in self.files_at]

    def go(self, conversation: tuple[Happening, ...] | None, files: dict[bytes, tuple[str, bytes] | None]) -> Way:
        changed = {path: file for path, file in files.items() if self.files.get(path) != file}
        way = Way(
            None if conversation in (None, self.conversation) else self.conversation,
            {path: self.files.get(path) for path in changed},
        )
        if changed:
            self.seen()
        for path, file in changed.items():
            self.files.pop(path, None)
            self.files.update({} if file is None else {path: file})
        self.conversation = self.conversation if conversation is None else conversation
        return way

    def words(self, conversation: tuple[Happening, ...] | None = None) -> list[str]:
        told = self.conversation if conversation is None else conversation
        prompts = [name for kind, name, _ in told if kind == "prompt"]
        undone = {name for kind, name, _ in told if kind == "restored"}
        condensed = [each for each in told if each[0] == "condensed" and each[1] not in undone]
        return [condensed[-1][1], *prompts[condensed[-1][2] :]] if condensed else prompts


class Stage:
    """A log, a workspace and its checkpoints, beside a model of them."""

    def __init__(self, place: Path) -> None:
        self.workspace = place / "work"
        self.workspace.mkdir()
        self.store = CheckpointStore(place / "store", self.workspace, os.environ)
        self.log = SessionLog.create(place / "session", lambda: 1)
        self.log.append(TaskRecord(task_id="t", mode="code"))
        self.rewinder = Rewinder(self.log.path, self.log, lambda: self.store)
        self.model = Model()
        self.count = 0

    def check(self) -> None:
        assert tree_of(self.workspace) == self.model.files
        assert words_of(load(self.log.path).records) == self.model.words()

    def take(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("prompt",):
                self.prompt()
            case ("edit", name, value):
                self.checkpoint()
                self.write(name, value)
            case ("own edit", name, value):
                self.write(name, value)
            case ("condense",):
                self.condense()
            case ("rewind", number, scope) if self.model.before:
                self.rewind(number % len(self.model.before), scope)
            case ("undo",):
                self.reverse(UndoRewind(), self.model.undo, self.model.redo)
            case ("redo",):
                self.reverse(RedoRewind(), self.model.redo, self.model.undo)
            case ("fork", number) if self.model.before:
                self.fork(number % len(self.model.before))
            case _:
                pass

    def name(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def prompt(self) -> None:
        name = self.name()
        kind = "user_feedback" if self.model.before else "text"
        self.log.append(MessageRecord(task_id="t", message=Message(ts=self.count, type="say", say=kind, text=name)))
        self.log.append(TurnRecord(task_id="t", turn=UserTurn(content=(TextBlock(text=name),))))
        self.model.before.append(self.model.conversation)
        self.model.files_at.append(None)
        self.model.conversation = (*self.model.conversation, ("prompt", name, 0))

    def checkpoint(self) -> None:
        saved = self.store.capture().id
        self.log.append(CheckpointRecord(task_id="t", checkpoint=saved, call_id=self.name(), tool="edit_file"))
        self.model.seen()

    def write(self, name: str, value: int) -> None:
        place = self.workspace / name
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)
        self.model.files.pop(name.encode(), None)
        if value % 3 == 1:
            place.symlink_to(f"to{value}")
            self.model.files[name.encode()] = ("link", b"to%d" % value)
        elif value % 3 == 2:
            place.write_text(str(value))
            mode = 0o755 if value > 3 else 0o644
            place.chmod(mode)
            self.model.files[name.encode()] = (f"{mode:o}", b"%d" % value)

    def condense(self) -> None:
        """Condense all that there is; if that was just done, take it back."""
        last = self.model.conversation[-1] if self.model.conversation else None
        prompts = sum(kind == "prompt" for kind, _, _ in self.model.conversation)
        if last is not None and last[0] == "condensed":
            self.log.append(RestoreRecord(task_id="t", id=last[1]))
            self.model.conversation = (*self.model.conversation, ("restored", last[1], 0))
        elif prompts:
            name = self.name()
            put = UserTurn(content=(TextBlock(text=name),))
            self.log.append(
                CondenseRecord(task_id="t", condense_id=name, trigger="manual", first=0, end=prompts, put=put)
            )
            self.model.conversation = (*self.model.conversation, ("condensed", name, prompts))

    def rewind(self, number: int, scope: RewindScope) -> None:
        model = self.model
        then = model.files_at[number] if scope is not RewindScope.CONVERSATION else None
        files = {} if then is None else {path: then.get(path) for path in {*then, *model.files}}
        conversation = None if scope is RewindScope.FILES else model.before[number]
        way = model.go(conversation, files)
        result = asyncio.run(self.rewinder.carry_out(RewindTo(number=number + 1, scope=scope)))
        assert result.is_empty == (way == Way(None, {}))
        if not result.is_empty:
            model.undo.append(way)
            model.redo = [way]

    def reverse(self, order: UndoRewind | RedoRewind, taken: list[Way], given: list[Way]) -> None:
        if not taken:
            with pytest.raises(RewindError):
                asyncio.run(self.rewinder.carry_out(order))
            return
        way = taken.pop()
        if isinstance(order, UndoRewind):
            given[:] = [each for each in given if each is not way]
        given.append(self.model.go(way.conversation, way.files))
        asyncio.run(self.rewinder.carry_out(order))

    def fork(self, number: int) -> None:
        records = load(self.log.path).records
        to = rewind_history(records).points[number].to
        assert words_of([record for record in records if record.seq <= to]) == self.model.words(
            self.model.before[number]
        )


def words_of(records: Sequence[Record]) -> list[str]:
    """What the model is shown of a conversation."""
    task = replay(records).tasks.get("t")
    turns = () if task is None else task.conversation().turns
    return [block.text for turn in turns for block in turn.content if isinstance(block, TextBlock)]


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_any_interleaving_leaves_files_and_conversation_as_in_the_model(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        stage = Stage(Path(place))
        try:
            for step in steps:
                stage.take(step)
                stage.check()
        finally:
            stage.log.close()
