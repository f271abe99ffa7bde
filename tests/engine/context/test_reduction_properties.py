"""Any order of turns, cuts, condensations, truncations, pins and their undoing: valid, as the log tells, and exact."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from robota.engine.context.old_outputs import old_outputs, replacement_text
from robota.engine.context.span import Span, all_but_last_exchange, can_condense, oldest_exchanges, pinned_pairs
from robota.engine.model.reply import NativeCallFormat
from robota.engine.record.history import History
from robota.engine.record.journal import EventBus, Journal
from robota.log.chain.growth import records_of
from robota.log.chain.reader import load
from robota.log.chain.writer import SessionLog
from robota.log.kinds.conversation import CondenseRecord, CutRecord, CutResult, TruncateRecord, TurnRecord
from robota.log.kinds.session import TaskRecord
from robota.log.record import payload_as
from robota.log.replay.context import mend
from robota.log.replay.reading import context_without
from robota.log.replay.session import replay
from robota.log.replay.task import TaskFold
from robota.protocol.conversation import Turn, UserTurn
from tests.engine.context.context_stage import FILE_READERS
from tests.log.replay.test_pairing import assistant, call, check_valid, result, text, user

TASK = "t"


class Reductions(RuleBasedStateMachine):
    """A history, and beside it a simple model: the turns, and which reductions hold."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.log = SessionLog.create(Path(self.directory.name) / "session", lambda: 1)
        self.log.append(TaskRecord(task_id=TASK, mode="code"))
        self.history = History(TASK, Journal(self.log, EventBus(self.log.redactor)), NativeCallFormat())
        self.names = 0
        self.before: dict[str, list[Turn]] = {}
        self.newest: list[str] = []
        self.history.add_user([text("go")])

    @initialize(sizes=st.lists(st.sampled_from([10, 4_000]), min_size=4, max_size=10), pins=st.sets(st.integers(0, 8)))
    def converse(self, sizes: list[int], pins: set[int]) -> None:
        for size in sizes:
            self.exchange(size, 1 + self.names % 2, size == 10)
        for turn in pins:
            self.history.pin(turn, True)

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}-{self.names}"

    @rule(size=st.sampled_from([10, 1_500, 4_000]), calls=st.integers(0, 3), words=st.booleans())
    def exchange(self, size: int, calls: int, words: bool) -> None:
        ids = [self.fresh("call") for _ in range(calls)]
        self.history.add_reply(assistant(text("I look."), *(call(each) for each in ids)))
        said = [text(self.fresh("words"))] if words or not ids else []
        self.history.add_user([*(result(each, each * (size // len(each))) for each in ids), *said])
        self.newest.clear()  # what is undone later leaves these turns in place

    def kept(self) -> frozenset[int]:
        return pinned_pairs(self.history.pieces, self.history.pins)

    def reduce(self, record: CondenseRecord | TruncateRecord | CutRecord, identity: str) -> None:
        pinned = self.pinned_blocks()
        self.before[identity] = list(self.history.turns)
        self.newest.append(identity)
        self.history.reduce(record)
        assert pinned <= self.blocks()

    def pinned_blocks(self) -> set[str]:
        kept = self.kept()
        pieces = [piece for piece in self.history.pieces if piece.number in kept and piece.reduction is None]
        return {repr(block) for piece in pieces for block in piece.turn.content}

    def blocks(self) -> set[str]:
        return {repr(block) for turn in self.history.turns for block in turn.content}

    @rule()
    def cut(self) -> None:
        outputs = old_outputs(self.history.pieces, self.kept(), 8_000, FILE_READERS)
        if outputs:
            identity = self.fresh("cut")
            results = tuple(
                CutResult(turn=each.turn, call_id=each.call.id, put=replacement_text(each, None, None))
                for each in outputs
            )
            self.reduce(CutRecord(task_id=TASK, cut_id=identity, results=results), identity)

    @precondition(lambda self: can_condense(self.history.pieces))
    @rule()
    def condense(self) -> None:
        span = all_but_last_exchange(self.history.pieces, self.history.recorded, 10_000, self.kept())
        if span is not None:
            identity = self.fresh("condense")
            record = CondenseRecord(task_id=TASK, condense_id=identity, trigger="auto", **span_fields(span))
            self.reduce(record, identity)

    @rule(excess=st.integers(0, 20_000))
    def truncate(self, excess: int) -> None:
        span = oldest_exchanges(self.history.pieces, self.history.recorded, excess, self.kept())
        if span is not None:
            identity = self.fresh("truncate")
            self.reduce(TruncateRecord(task_id=TASK, truncation_id=identity, **span_fields(span)), identity)

    @rule(data=st.data(), is_pinned=st.booleans())
    def pin(self, data: st.DataObject, is_pinned: bool) -> None:
        numbers = [piece.number for piece in self.history.pieces if piece.reduction is None]
        if numbers:
            self.history.pin(data.draw(st.sampled_from(numbers)), is_pinned)

    @rule()
    def undo_newest(self) -> None:
        """Undone in the order in which they came, reductions leave exactly what was there before them."""
        if self.newest:
            identity = self.newest.pop()
            self.undo(identity)
            assert list(self.history.turns) == self.before[identity]

    @precondition(lambda self: self.history.undoable)
    @rule(data=st.data())
    def undo_any(self, data: st.DataObject) -> None:
        identity = data.draw(st.sampled_from(list(self.history.undoable)))
        self.undo(identity)
        self.newest.clear()
        assert identity not in self.history.undoable

    def undo(self, identity: str) -> None:
        restored = self.history.without_reduction(identity, context_without(self.log.path, TASK, identity))
        assert restored is not None
        self.history.restore(identity, restored)

    @rule()
    def undo_all(self) -> None:
        """Whatever happened, undoing all of it leaves the turns as they were recorded."""
        while self.history.undoable:
            self.undo(self.history.undoable[-1])
        self.newest.clear()
        records = records_of(self.log.path, ["turn"])
        payloads = [payload_as(TurnRecord, record) for record in records]
        recorded = [payload.turn for payload in payloads if payload is not None]
        assert list(self.history.turns) == list(mend(recorded).turns)

    def replayed(self) -> TaskFold:
        return replay(load(self.log.path).records).tasks[TASK]

    def teardown(self) -> None:
        self.log.close()
        self.directory.cleanup()

    @invariant()
    def is_valid_and_the_log_tells_the_same(self) -> None:
        check_valid(list(self.history.turns))
        assert isinstance(self.history.turns[-1], UserTurn)
        task = self.replayed()
        assert task.conversation().turns == list(self.history.turns)
        assert task.context.pins == self.history.pins
        assert task.context.undoable == list(self.history.undoable)


def span_fields(span: Span) -> dict[str, Any]:
    put = user(text(f"in place of {len(span.turns)}"))
    return {"first": span.first, "end": span.end, "put": put, "keep": span.keep}


TestReductions = Reductions.TestCase
TestReductions.settings = settings(max_examples=25, stateful_step_count=15, deadline=None)
