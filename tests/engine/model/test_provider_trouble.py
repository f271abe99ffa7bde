"""What happens to a task when the model's server misbehaves."""

from pathlib import Path
from typing import Any

import pytest

from robota.protocol.commands import Accepted, CancelTask, QueueMessage, Refused
from robota.protocol.conversation import AssistantTurn, UserTurn
from robota.protocol.events import Notice, RetryScheduled, TaskEnded, TurnReply
from robota.protocol.state import AgentState
from tests.engine.stage import Stage, call, play


@pytest.mark.parametrize("kind", ["rate_limit", "overloaded", "server_error", "connection", "cut", "eof", "empty"])
@pytest.mark.parametrize("after", [0, 2])
def test_a_passing_fault_is_retried_and_the_answer_is_not_doubled(workspace: Path, kind: str, after: int) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        (reply,) = stage.events_of(TurnReply)
        assert reply.reply.text == "A whole answer."
        assert len(stage.events_of(RetryScheduled)) == 1
        assert [row.text for row in stage.rows if row.say == "text" and not row.interrupted][1:] == ["A whole answer."]

    faulty = {"text": "A half answer that is cut somewhere.", "chunkSize": 4, "fault": {"kind": kind, "after": after}}
    play(workspace, [faulty, {"text": "A whole answer."}], story)


@pytest.mark.parametrize("kind", ["cut", "eof", "server_error"])
def test_a_half_written_call_is_never_run(workspace: Path, kind: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert not (workspace / "danger").exists()

    half = {
        "calls": [call("execute_command", command="touch danger")],
        "chunkSize": 4,
        "fault": {"kind": kind, "after": 4},
    }
    play(workspace, [half, {"text": "ok"}], story, permission_mode="bypassPermissions")


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [
        ("authentication_failed", False),
        ("invalid_request", False),
        ("server_error", True),
        ("cut", True),
        ("empty", True),
    ],
)
def test_a_lasting_fault_is_asked_and_yes_tries_again(workspace: Path, kind: str, retryable: bool) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("api_req_failed")
        assert stage.state is AgentState.IDLE
        assert ask.fault is not None and ask.fault.retryable is retryable and ask.text
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert stage.says("api_req_retried") == [""]

    attempts = 3 if kind == "empty" else 4 if retryable else 1
    turns: list[dict[str, Any]] = [{"fault": {"kind": kind}}] * attempts
    play(workspace, [*turns, {"text": "Back again."}], story)


@pytest.mark.parametrize("way", ["no", "cancel"])
def test_a_request_that_failed_for_good_is_given_up_without_the_conversation(workspace: Path, way: str) -> None:
    """The next prompt goes on in the same conversation, as a message of its own."""

    async def story(stage: Stage) -> None:
        task = await stage.start("my name is Ada")
        await stage.until_ask("completion_result")
        await stage.answer("messageResponse", text="this one fails")
        await stage.until_ask("api_req_failed")
        if way == "no":
            await stage.answer("noButtonClicked")
        else:
            assert isinstance(await stage.submit(CancelTask()), Accepted)
        await stage.until_ask("resume_task")
        await stage.answer("messageResponse", text="what is my name")
        await stage.until_ask("completion_result")
        turns = stage.logged().tasks[task].conversation().turns
        assert [type(turn) for turn in turns] == [UserTurn, AssistantTurn] * 3
        assert "Ada" in str(turns[0].content) and "fails" in str(turns[2].content)
        assert "this one fails" not in str(turns[4].content) and "what is my name" in str(turns[4].content)

    play(workspace, [{"text": "Hello Ada."}, {"fault": {"kind": "authentication_failed"}}, {"text": "Ada"}], story)


@pytest.mark.parametrize(
    ("ask", "launch"),
    [("auto_approval_max_req_reached", {"max_turns": 1}), ("mistake_limit_reached", {"completion": "explicit"})],
)
def test_a_no_at_a_limit_stops_the_turn_and_keeps_the_conversation(
    workspace: Path, ask: str, launch: dict[str, Any]
) -> None:
    async def story(stage: Stage) -> None:
        task = await stage.start("my name is Ada")
        await stage.until_ask(ask)
        await stage.answer("noButtonClicked")
        await stage.until_ask("resume_task")
        await stage.answer("messageResponse", text="what is my name")
        await stage.until_ask(ask)
        assert "what is my name" in str(stage.logged().tasks[task].conversation().turns)

    turns: list[dict[str, Any]] = [{"calls": [call("list_files", path=".")]}] * 9 if "max_turns" in launch else []
    play(workspace, turns or [{"text": "words"}] * 9, story, **launch)


def test_every_request_row_gets_a_cost_so_that_nothing_seems_to_stream_for_ever(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        requests = stage.says("api_req_started")
        assert len(requests) == 3 and all('"cost"' in text for text in requests)
        assert '"cancelReason": "streaming_failed"' in requests[0]

    turns = [
        {"text": "x", "fault": {"kind": "cut", "after": 1}},
        {"calls": [call("list_files", path=".")]},
        {"text": "done"},
    ]
    play(workspace, turns, story)


def test_a_script_that_ran_out_says_so(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("api_req_failed")
        assert ask.fault is not None and ask.fault.kind == "script" and not ask.fault.retryable

    play(workspace, [], story)


def test_a_fallback_model_takes_over_when_the_first_does_not_answer(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        (reply,) = stage.events_of(TurnReply)
        assert reply.reply.model == "second"
        assert "second" in stage.events_of(Notice)[0].text

    turns: list[dict[str, Any]] = [{"fault": {"kind": "overloaded"}}] * 4
    play(workspace, [*turns, {"text": "Here."}], story, fallback_models=("second",))


def test_words_on_a_lasting_fault_are_sent_with_the_next_try(workspace: Path) -> None:
    """They ended the task once, and were sent to nobody."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("api_req_failed")
        await stage.answer("messageResponse", text="and be brief")
        await stage.until_ask("completion_result")
        assert stage.says("user_feedback") == ["and be brief"]

    expected = {"text": "fine", "expect": {"user": "and be brief"}}
    play(workspace, [{"fault": {"kind": "authentication_failed"}}, expected], story)


def test_words_for_nobody_are_refused(workspace: Path) -> None:
    """They were queued once where no task would ever take them."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("api_req_failed")
        await stage.answer("noButtonClicked")
        await stage.until_ask("resume_task")
        await stage.answer("noButtonClicked")
        await stage.until(lambda event: isinstance(event, TaskEnded))
        receipt = await stage.submit(QueueMessage(text="hello"))
        assert isinstance(receipt, Refused) and receipt.code == "no_active_task"

    play(workspace, [{"fault": {"kind": "authentication_failed"}}], story)
