"""Several subtasks at once: each has its own asks, rows and messages, and its end is told once, whatever happens."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from robota.contracts.tool import Delegate
from robota.engine.task.subtasks import Subtask
from robota.engine.task.task import Task
from robota.log.chain.reader import load
from robota.log.kinds.session import EndRecord
from robota.log.record import payload_of
from robota.protocol.asks.answer import Answer, Approve, Reject, Say
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    CancelTask,
    ClearTask,
    NewTask,
    OlderRowsRequest,
    QueueMessage,
    Refused,
)
from robota.protocol.events import MessageCreated, OlderRows, QueuedMessagesUpdated, TaskEnded, TaskPaused
from robota.protocol.message import Message
from robota.protocol.state import detect_agent_state, is_request_row
from tests.engine.session.gated_session import GatedSession, with_gated_session


def root_of(stage: GatedSession) -> Task:
    task = stage.session._runner.root
    assert task is not None
    return task


def order(message: str) -> Delegate:
    return Delegate(mode="code", message=message, may_answer_in_words=True)


async def two_subtasks(stage: GatedSession) -> tuple[Subtask, Subtask]:
    """A task whose request waits, and two subtasks beside it, whose requests wait."""
    assert isinstance(await stage.submit(NewTask(text="begin")), Accepted)
    subtasks = root_of(stage).subtasks
    started = subtasks.start(order("part one.")), subtasks.start(order("part two."))
    await stage.settle()
    return started


def task_id(subtask: Subtask) -> str:
    return subtask.task.runtime.task_id


def asked(stage: GatedSession, subtask: Subtask) -> Message:
    """What the subtask asks, as clients see it."""
    events = [event for event in stage.seen if isinstance(event, MessageCreated) and event.message.ask is not None]
    return next(event.message for event in reversed(events) if event.task_id == task_id(subtask))


@pytest.mark.parametrize("is_reversed", [False, True])
def test_two_subtasks_ask_and_are_answered_in_any_order(tmp_path: Path, is_reversed: bool) -> None:
    async def story(stage: GatedSession) -> None:
        started = await two_subtasks(stage)
        for prompt in ("part one.", "part two."):
            await stage.model_says("question", prompt)
        first, second = reversed(started) if is_reversed else started
        await stage.submit(AskResponse(answer=Say(text="for the first"), ts=asked(stage, first).ts))
        assert "for the first" in str(first.task.runtime.history.turns)
        assert "for the first" not in str(second.task.runtime.history.turns)
        await stage.submit(AskResponse(answer=Say(text="for the second"), ts=asked(stage, second).ts))
        await stage.model_says("result one", "part one.")
        await stage.model_says("result two", "part two.")
        assert [(await each.end()).text for each in started] == ["result one", "result two"]
        assert not root_of(stage).subtasks.running
        await stage.model_says("the parent goes on")
        assert stage.ask == "completion_result"

    with_gated_session(tmp_path, story)


def test_an_answer_that_names_no_ask_is_refused_while_several_are_pending(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        first, second = await two_subtasks(stage)
        await stage.model_says("question", "part one.")
        await stage.model_says("write", "part two.")
        before = stage.opened.log.path.read_bytes()
        receipt = await stage.submit(AskResponse(answer=Approve(), request_id="r1"))
        assert isinstance(receipt, Refused) and (receipt.code, receipt.request_id) == ("ambiguous_ask", "r1")
        assert str(asked(stage, first).ts) in receipt.message and str(asked(stage, second).ts) in receipt.message
        assert task_id(first) in receipt.message and task_id(second) in receipt.message
        assert stage.opened.log.path.read_bytes() == before
        await stage.submit(AskResponse(answer=Say(text="A"), ts=asked(stage, first).ts))
        assert isinstance(await stage.submit(AskResponse(answer=Approve())), Accepted), "one is left"
        assert (tmp_path / "work" / "made-2.txt").exists()

    with_gated_session(tmp_path, story)


def test_a_subtask_that_is_stopped_leaves_the_others(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        first, second = await two_subtasks(stage)
        await stage.model_says("question", "part one.")
        assert isinstance(await stage.submit(CancelTask(task_id=task_id(first))), Accepted)
        assert (await first.end()).outcome == "interrupted"
        late = await stage.submit(AskResponse(answer=Say(text="A"), ts=asked(stage, first).ts))
        assert isinstance(late, Refused) and late.code == "stale_ask"
        again = await stage.submit(CancelTask(task_id=task_id(first)))
        assert isinstance(again, Refused) and again.code == "no_such_task"
        await stage.model_says("result two", "part two.")
        assert (await second.end()).text == "result two"
        ended = [(event.task_id, event.outcome) for event in stage.seen if isinstance(event, TaskEnded)]
        assert ended == [(task_id(first), "interrupted"), (task_id(second), "completed")]
        await stage.model_says("an answer")
        assert stage.ask == "completion_result"

    with_gated_session(tmp_path, story)


def test_a_subtask_that_its_parent_waits_for_can_be_stopped_alone(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        await stage.submit(NewTask(text="begin"))
        await stage.model_says("delegate")
        child = stage.session.state().current_task_id
        assert isinstance(await stage.submit(CancelTask(task_id=child)), Accepted)
        assert "ended before it was complete. It was stopped." in str(root_of(stage).runtime.history.turns)
        await stage.model_says("the parent goes on")
        assert stage.ask == "completion_result"

    with_gated_session(tmp_path, story)


def test_a_bug_in_one_subtask_is_its_end_alone(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        first, second = await two_subtasks(stage)
        del first.task.runtime.history  # whatever uses it fails
        await stage.model_says("an answer", "part one.")
        ended = await first.end()
        assert ended.outcome == "failed" and "bug in Robota" in ended.text
        await stage.model_says("result two", "part two.")
        assert (await second.end()).text == "result two"
        await stage.model_says("an answer")
        assert stage.ask == "completion_result"

    with_gated_session(tmp_path, story)


@pytest.mark.parametrize("how", ["cancelled", "cleared", "completed", "closed"])
def test_no_subtask_outlives_the_work_of_its_parent(tmp_path: Path, how: str) -> None:
    async def story(stage: GatedSession) -> None:
        started = await two_subtasks(stage)
        await stage.model_says("question", "part one.")
        assert isinstance(started[0].task, Task)
        below = started[0].task.subtasks.start(order("part of part one."))
        await stage.settle()
        match how:
            case "cancelled":
                await stage.submit(CancelTask())
                assert stage.ask == "resume_task"
            case "cleared":
                await stage.submit(ClearTask())
            case "completed":
                await stage.model_says("an answer", "begin")
                assert root_of(stage).subtasks.running, "the user may look at the answer meanwhile"
                await stage.submit(AskResponse(answer=Approve(), ts=asked_by_root(stage).ts))
            case _:
                await stage.opened.close()
        assert [(await each.end()).outcome for each in (*started, below)] == ["interrupted"] * 3
        assert not stage.session._asks.open_asks or how == "cancelled"
        expected = Counter() if how == "closed" else Counter(map(task_id, (*started, below)))
        assert ends_in_log(stage) - Counter([root_of_log(stage)]) == expected
        if how == "closed":
            assert set(stage.logged().open_subtasks) == set(map(task_id, (*started, below)))

    with_gated_session(tmp_path, story)


def asked_by_root(stage: GatedSession) -> Message:
    return root_of(stage).runtime.rows.messages[-1]


def ends_in_log(stage: GatedSession) -> Counter[str]:
    """How often the end of each task is recorded."""
    payloads = map(payload_of, load(stage.opened.log.path).records)
    return Counter(payload.task_id for payload in payloads if isinstance(payload, EndRecord))


def root_of_log(stage: GatedSession) -> str:
    return next(id for id, task in stage.logged().tasks.items() if task.parent_task_id is None)


def test_a_client_that_comes_later_learns_what_every_task_asks(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        started = await two_subtasks(stage)
        await stage.model_says("question", "part two.")
        root = root_of(stage).runtime.task_id
        state = stage.session.state()
        assert state.current_task_id == root and not [e for e in stage.seen if isinstance(e, TaskPaused)]
        assert [(task.task_id, task.parent_task_id) for task in state.open_tasks] == [
            (root, None),
            *((task_id(each), root) for each in started),
        ]
        assert [task.asks for task in state.open_tasks] == [(), (), (asked(stage, started[1]),)]
        await stage.submit(OlderRowsRequest(task_id=task_id(started[1])))
        rows = next(event for event in reversed(stage.seen) if isinstance(event, OlderRows))
        assert rows.task_id == task_id(started[1]) and rows.messages[0].text == "part two."
        unknown = await stage.submit(OlderRowsRequest(task_id="nobody"))
        assert isinstance(unknown, Refused) and unknown.code == "no_such_task"

    with_gated_session(tmp_path, story)


def test_each_subtask_has_its_own_messages(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        first, second = await two_subtasks(stage)
        for_second = QueueMessage(text="for the second", task_id=task_id(second))
        assert isinstance(await stage.submit(for_second), Accepted)
        await stage.submit(QueueMessage(text="for later", after_turn=True, task_id=task_id(second)))
        await stage.submit(QueueMessage(text="for the parent"))
        assert [each.text for each in stage.session.state().message_queue] == ["for the parent"]
        told = [event.task_id for event in stage.seen if isinstance(event, QueuedMessagesUpdated)]
        assert told == [task_id(second), task_id(second), root_of(stage).runtime.task_id]
        await stage.model_says("look", "part one.")
        await stage.model_says("look", "part two.")
        assert "for the" not in str(first.task.runtime.history.turns)
        assert "for the second" in str(second.task.runtime.history.turns)
        await stage.model_says("result two", "part two.")
        queue = [(each.text, each.task_id) for each in stage.session.state().message_queue]
        assert queue == [("for later", None), ("for the parent", None)], "the parent inherits what was not sent"
        gone = await stage.submit(for_second)
        assert isinstance(gone, Refused) and gone.code == "no_such_task"

    with_gated_session(tmp_path, story)


def test_subtasks_that_were_left_are_ended_when_the_session_is_resumed(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        started = await two_subtasks(stage)
        await stage.submit(QueueMessage(text="a late word", after_turn=True, task_id=task_id(started[0])))
        await stage.reopen()
        assert [each.text for each in stage.session.state().message_queue] == ["a late word"]
        await stage.submit(AskResponse(answer=Approve()))
        assert ends_in_log(stage) - Counter([root_of_log(stage)]) == Counter(map(task_id, started))
        await stage.model_says("an answer")
        assert "a late word" in str(root_of(stage).runtime.history.turns), "the parent gets what was not sent"

    with_gated_session(tmp_path, story)


ANSWERS: st.SearchStrategy[Answer] = st.sampled_from((Approve(), Reject(), Say(text="words")))
NUMBERS = st.integers(0, 20)
MODEL_WORDS = st.sampled_from(("question", "write", "an answer", "some words", "look", "delegate"))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), NUMBERS),
        st.tuples(st.just("model"), NUMBERS, MODEL_WORDS),
        st.tuples(st.just("answer"), NUMBERS, ANSWERS),
        st.tuples(st.just("unnamed answer"), ANSWERS),
        st.tuples(st.just("stop"), NUMBERS),
        st.tuples(st.just("message"), NUMBERS),
    ),
    min_size=5,
    max_size=25,
)
MAX_DEPTH, MAX_WIDTH = 3, 4


@settings(max_examples=30)
@given(STEPS, st.sampled_from((CancelTask(), ClearTask(), None)))
def test_in_any_tree_every_ask_ends_and_every_result_is_delivered_once(
    steps: list[tuple[object, ...]], ending: CancelTask | ClearTask | None
) -> None:
    async def story(stage: GatedSession) -> None:
        tree = RandomTree(stage)
        await stage.submit(NewTask(text="begin"))
        for step in steps:
            note(str(step))
            await tree.take(*step)
            tree.check()
        if ending is not None:
            await stage.submit(ending)
            tree.check_end()
        await stage.close()
        await tree.check_waiters()
        engine = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
        assert not engine, f"left: {engine}"
        assert not stage.unhandled

    with tempfile.TemporaryDirectory() as directory:
        with_gated_session(Path(directory), story)


class RandomTree:
    """A tree of tasks that grows and shrinks; every subtask has two readers that wait for its end."""

    def __init__(self, stage: GatedSession) -> None:
        self.stage = stage
        self.started: list[Subtask] = []
        self.waiters: list[asyncio.Task[object]] = []

    async def take(self, kind: object, *details: object) -> None:
        match (kind, *details):
            case ("start", int(number)):
                await self._start(number)
            case ("model", int(number), str(words)):
                prompts = ["begin", *(f"part {n}." for n in range(len(self.started)))]
                await self.stage.model_says(words, prompts[number % len(prompts)])
            case ("answer", int(number), Approve() | Reject() | Say() as answer):
                pending = self.stage.session._asks.open_asks
                if pending:
                    ts = pending[number % len(pending)].message.ts
                    receipt = await self.stage.submit(AskResponse(answer=answer, ts=ts))
                    assert isinstance(receipt, Accepted), receipt
            case ("unnamed answer", Approve() | Reject() | Say() as answer):
                count = len(self.stage.session._asks.open_asks)
                receipt = await self.stage.submit(AskResponse(answer=answer))
                codes = {0: "stale_ask", 1: None}
                code = receipt.code if isinstance(receipt, Refused) else None
                assert code == codes.get(count, "ambiguous_ask"), (count, receipt)
            case ("stop", int(number)) if self.started:
                subtask = self.started[number % len(self.started)]
                was_over = subtask.ended.done()
                receipt = await self.stage.submit(CancelTask(task_id=task_id(subtask)))
                assert isinstance(receipt, Refused if was_over else Accepted)
            case ("message", int(number)) if self.started:
                subtask = self.started[number % len(self.started)]
                await self.stage.submit(QueueMessage(text="a word", task_id=task_id(subtask)))
            case _:
                pass

    async def _start(self, number: int) -> None:
        if self.stage.session._runner.is_over or self.stage.session._runner.root is None:
            return
        parents = [
            task
            for task in root_of(self.stage).subtasks.open_tasks()
            if isinstance(task, Task) and self._depth(task) < MAX_DEPTH and len(task.subtasks.running) < MAX_WIDTH
        ]
        if not parents or not self._is_working:
            return
        subtask = parents[number % len(parents)].subtasks.start(order(f"part {len(self.started)}."))
        self.started.append(subtask)
        self.waiters.extend(asyncio.create_task(subtask.end()) for _ in range(2))
        if number % 3 == 0:
            subtask.stop()  # before its first step
        await self.stage.settle()

    @property
    def _is_working(self) -> bool:
        return self.stage.ask not in ("resume_task", "resume_completed_task")

    def _depth(self, task: Task) -> int:
        parents = {task_id(each): each.task.runtime.parent_id for each in self.started}
        depth, above = 0, task.runtime.parent_id
        while above is not None:
            depth, above = depth + 1, parents.get(above)
        return depth

    def check(self) -> None:
        """Nothing moves now: each end was told and recorded once, and only open tasks ask or look as if they worked."""
        over = Counter(task_id(each) for each in self.started if each.ended.done())
        told = Counter(event.task_id for event in self.stage.seen if isinstance(event, TaskEnded))
        recorded = ends_in_log(self.stage)
        assert told == recorded and max(told.values(), default=1) == 1
        assert set(over) <= set(told)
        open_ids = {task.runtime.task_id for task in self.stage.session._runner.open_tasks}
        assert not open_ids & set(over)
        assert {each.task_id for each in self.stage.session._asks.open_asks} <= open_ids
        for subtask in self.started:
            assert not (subtask.ended.done() and looks_busy(subtask.task.runtime.rows.messages))

    def check_end(self) -> None:
        assert all(each.ended.done() for each in self.started)
        asking = {each.task_id for each in self.stage.session._asks.open_asks}
        assert not asking & {task_id(each) for each in self.started}
        self.check()

    async def check_waiters(self) -> None:
        """Everybody who waited for a subtask has got its end, and the same one."""
        ends = await asyncio.gather(*self.waiters)
        assert ends[::2] == ends[1::2] == [each.ended.result() for each in self.started]


def looks_busy(rows: Sequence[Message]) -> bool:
    """Whether a row streams, or stands for a request that looks as if the model was still answering."""
    return any(row.partial or (is_request_row(row) and detect_agent_state([row]).is_streaming) for row in rows)
