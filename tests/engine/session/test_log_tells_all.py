"""At every moment the log alone tells what the live session holds: rows, conversation, plan, modes, queue."""

from pathlib import Path
from typing import Any

import pytest

from robota.protocol.commands import CondenseContext, QueueMessage, SetPermissionMode, SwitchMode
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.state import detect_agent_state, is_request_row
from tests.engine.stage import Stage, call, play

READS = [call("read_file", path="a.txt"), call("list_files", path=".")]
WRITE = call("write_to_file", path="b.txt", content="b\n")
ASK = call("ask_followup_question", question="Which?", follow_up=[{"text": "A"}])
PLAN = call("update_todo_list", todos="[ ] one\n[x] two")
SUBTASK = call("new_task", mode="code", message="look", todos="")


@pytest.mark.parametrize(
    "turns",
    [
        [{"text": "Hello."}],
        [{"reasoning": "hm", "text": "Reading.", "calls": READS}, {"text": "Done."}],
        [{"calls": [PLAN, WRITE]}, {"calls": [*READS, ASK]}, {"text": "Done."}],
        [{"calls": [SUBTASK]}, {"calls": [call("attempt_completion", result="seen")]}, {"text": "Done."}],
        [{"text": "word " * 2000}, {"text": "A summary."}, {"text": "Done."}],
    ],
    ids=["words", "reads", "asks", "subtask", "condensed"],
)
def test_the_log_equals_the_live_session_at_every_event(workspace: Path, turns: list[Any]) -> None:
    (workspace / "a.txt").write_text("alpha\n")

    async def story(stage: Stage) -> None:
        await stage.start("begin")
        await stage.submit(SetPermissionMode(permission_mode=PermissionMode.PLAN))
        await stage.submit(SetPermissionMode(permission_mode=PermissionMode.DEFAULT))
        await stage.submit(SwitchMode(text="debug"))
        await stage.submit(QueueMessage(text="and more"))
        compared = 0
        while (ask := await next_ask(stage)) is not None:
            compared += 1
            if ask.ask == "completion_result":
                break
            await stage.answer("messageResponse" if ask.ask == "followup" else "yesButtonClicked", "A", ts=ask.ts)
        await stage.submit(CondenseContext())
        await next_ask(stage)
        assert compared > 0

    async def next_ask(stage: Stage) -> Message | None:
        while True:
            event: Any = await stage.until(lambda each: True)
            compare(stage)
            message = getattr(event, "message", None)
            if message is not None and message.ask and event.__class__.__name__ == "MessageCreated":
                return message if isinstance(message, Message) else None

    play(workspace, [*turns, *[{"text": "More."}] * 3], story)


def compare(stage: Stage) -> None:
    state, logged = stage.session.state(), stage.logged()
    logged_mode = None if logged.header is None else logged.header.permission_mode
    assert (logged_mode, logged.queue) == (state.permission_mode, state.message_queue)
    task = logged.tasks.get(state.current_task_id or "")
    if task is None:
        assert state.cline_messages == ()
        return
    assert (task.mode, task.todos) == (state.mode, state.todos)
    rows = {row.ts: row for row in task.messages}
    assert [row for row in state.cline_messages if is_done(row)] == [
        rows[row.ts] for row in state.cline_messages if is_done(row)
    ]
    current = stage.session._runner.current
    assert current is not None
    assert list(current.runtime.history.turns) == task.open_conversation().turns


def is_done(row: Message) -> bool:
    return row.partial is not True and not (is_request_row(row) and detect_agent_state([row]).is_streaming)
