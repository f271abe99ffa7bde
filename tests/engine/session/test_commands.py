"""A command is accepted or refused, whenever it comes; what is refused has changed nothing."""

from pathlib import Path

import pytest

from robota.protocol.asks.answer import Approve, Reject, Say
from robota.protocol.codec import encode
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    CancelTask,
    ClearTask,
    Command,
    EditQueuedMessage,
    NewTask,
    QueueMessage,
    Refused,
    RewindTo,
)
from robota.protocol.events import TaskEnded
from robota.protocol.rewind import RewindScope
from robota.protocol.state import AgentState
from tests.engine.session.gated_session import GatedSession, with_gated_session


async def completed(stage: GatedSession) -> None:
    """A task that waits for the next prompt."""
    await stage.submit(NewTask(text="begin"))
    await stage.model_says("an answer")
    assert stage.ask == "completion_result"


@pytest.mark.parametrize(
    "command",
    [
        NewTask(text="x", mode="no-such-mode"),
        NewTask(text="  "),
        QueueMessage(text=" "),
        EditQueuedMessage(id="q1", text="x"),
        RewindTo(number=99),
        RewindTo(number=1, scope=RewindScope.CONVERSATION, state="another"),
    ],
    ids=lambda command: type(command).__name__,
)
def test_a_refused_command_leaves_the_task_as_it_was(tmp_path: Path, command: Command) -> None:
    async def story(stage: GatedSession) -> None:
        await completed(stage)
        ask, log = stage.tracker.info.last_message_ts, stage.opened.log.path.read_bytes()
        state, events = encode(stage.session.state()), len(stage.seen)
        assert isinstance(await stage.submit(command), Refused)
        assert (encode(stage.session.state()), len(stage.seen)) == (state, events)
        assert stage.opened.log.path.read_bytes() == log
        assert isinstance(await stage.submit(AskResponse(answer=Say(text="go on"), ts=ask)), Accepted)
        assert stage.state is AgentState.STREAMING

    with_gated_session(tmp_path, story)


def test_a_task_id_names_one_task(tmp_path: Path) -> None:
    """A second task with the same id would write into the rows of the first."""

    async def story(stage: GatedSession) -> None:
        assert await stage.submit(NewTask(text="one", task_id="mine")) == Accepted(id="mine")
        await stage.model_says("an answer")
        assert isinstance(await stage.submit(NewTask(text="two", task_id="mine")), Refused)
        assert stage.ask == "completion_result"

    with_gated_session(tmp_path, story)


def test_a_queued_message_may_follow_a_completed_task_that_was_rewound(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        await completed(stage)
        await stage.submit(AskResponse(answer=Say(text="and more")))
        await stage.model_says("an answer")
        await stage.submit(AskResponse(answer=Approve()))
        assert isinstance(await stage.submit(RewindTo(number=2, scope=RewindScope.CONVERSATION)), Accepted)
        assert isinstance(await stage.submit(QueueMessage(text="later")), Accepted)

    with_gated_session(tmp_path, story)


@pytest.mark.parametrize("is_ended", [True, False])
def test_one_of_two_new_tasks_at_once_is_started_and_the_other_refused(tmp_path: Path, is_ended: bool) -> None:
    async def story(stage: GatedSession) -> None:
        await completed(stage)
        if is_ended:
            await stage.submit(AskResponse(answer=Approve()))
        first, second = await stage.submit_all(NewTask(text="one"), NewTask(text="two"))
        assert isinstance(first, Accepted) and isinstance(second, Refused)
        assert stage.session.state().current_task_id == first.id

    with_gated_session(tmp_path, story)


@pytest.mark.parametrize("other", [ClearTask(), NewTask(text="another"), CancelTask()], ids=lambda c: type(c).__name__)
def test_the_end_of_a_task_and_the_next_commands_may_come_together(tmp_path: Path, other: Command) -> None:
    async def story(stage: GatedSession) -> None:
        for commands in ((other, QueueMessage(text="x")), (QueueMessage(text="x"), other)):
            await completed(stage)
            await stage.submit_all(AskResponse(answer=Approve()), *commands)
            await stage.submit(ClearTask())

    with_gated_session(tmp_path, story)


def test_an_answer_that_ends_the_task_is_accepted_when_it_has_ended(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        await completed(stage)
        await stage.session.submit(AskResponse(answer=Approve()))
        receipt = await stage.session.submit(NewTask(text="the next"))
        assert isinstance(receipt, Accepted)
        await stage.settle()
        assert [event.outcome for event in stage.seen if isinstance(event, TaskEnded)] == ["completed"]

    with_gated_session(tmp_path, story)


def test_a_message_queued_right_after_an_answer_waits_for_its_turn(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        await completed(stage)
        receipts = await stage.submit_all(AskResponse(answer=Say(text="go on")), QueueMessage(text="and this"))
        assert all(isinstance(receipt, Accepted) for receipt in receipts), receipts
        said = [row.text for row in stage.rows if row.say == "user_feedback"]
        assert said == ["go on", "and this"]

    with_gated_session(tmp_path, story)


def test_a_task_can_be_cancelled_as_soon_as_it_is_started(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        receipts = await stage.submit_all(NewTask(text="begin"), CancelTask())
        assert all(isinstance(receipt, Accepted) for receipt in receipts), receipts
        assert stage.ask == "resume_task"
        receipts = await stage.submit_all(AskResponse(answer=Approve()), CancelTask())
        assert all(isinstance(receipt, Accepted) for receipt in receipts), receipts
        assert stage.ask == "resume_task"

    with_gated_session(tmp_path, story)


def test_a_no_at_the_failed_request_of_a_subtask_returns_to_its_parent(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        receipt = await stage.submit(NewTask(text="begin"))
        assert isinstance(receipt, Accepted)
        await stage.model_says("delegate")
        child = stage.session.state().current_task_id
        await stage.model_says("refuse")
        assert stage.ask == "api_req_failed"
        await stage.submit(AskResponse(answer=Reject()))
        assert stage.session.state().current_task_id == receipt.id
        assert stage.state is AgentState.STREAMING and stage.model.is_asked
        assert stage.logged().tasks[child or ""].outcome == "failed"
        await stage.model_says("an answer")
        assert stage.ask == "completion_result"

    with_gated_session(tmp_path, story)


def test_an_answer_to_an_ask_that_was_just_cancelled_is_refused(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        await stage.submit(NewTask(text="begin"))
        await stage.model_says("question")
        for ts in (stage.tracker.info.last_message_ts, None):
            answer = AskResponse(answer=Say(text="too late"), ts=ts)
            cancelled, answered = await stage.submit_all(CancelTask(), answer)
            assert isinstance(cancelled, Accepted)
            assert isinstance(answered, Refused) and answered.code == "stale_ask"
            assert stage.ask == "resume_task"
            await stage.submit(AskResponse(answer=Approve()))
            await stage.model_says("question")

    with_gated_session(tmp_path, story)


def test_a_subtask_of_an_earlier_process_has_ended_once_its_parent_goes_on(tmp_path: Path) -> None:
    async def story(stage: GatedSession) -> None:
        await stage.submit(NewTask(text="begin"))
        await stage.model_says("delegate")
        child = stage.session.state().current_task_id or ""
        await stage.model_says("question")
        await stage.reopen()
        assert stage.logged().tasks[child].outcome is None  # robota answer can still reach it
        await stage.submit(AskResponse(answer=Approve()))
        assert stage.state is AgentState.STREAMING
        assert stage.logged().tasks[child].outcome == "interrupted"

    with_gated_session(tmp_path, story)
