"""A task holds its newest rows; those before them are read from its log, and are the same."""

import gc
from pathlib import Path
from typing import Any

from robota.engine.record.journal import EventBus, Journal
from robota.engine.record.rows import Rows
from robota.log.chain.writer import SessionLog
from robota.log.replay.reading import LogReading
from robota.log.replay.rows.row_pages import rows_before
from robota.protocol.calls import PastCall
from robota.protocol.commands import OlderRowsRequest, RewindTo
from robota.protocol.events import OlderRows, State
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.secrets.redaction import Redactor
from tests.engine.record.test_ended_calls import seen_live, without_place
from tests.engine.rewind.test_live_rewind import TWO_PROMPTS, gone, prompted_twice
from tests.engine.stage import Stage, call, play
from tests.engine.task.test_resumption import first_state, resume

LOOKS: list[dict[str, Any]] = [
    {"text": "Look {n}.", "calls": [call("glob", pattern="no-{n}"), call("read_file", path="none")], "repeat": 140},
    {"text": "That was all."},
]
MOST_HELD = 500


async def all_pages(stage: Stage) -> tuple[list[Message], list[PastCall]]:
    """All rows and calls as a client gets them that comes now and asks until there is nothing before."""
    state = await anext(stage.session.events())
    assert isinstance(state, State)
    rows, calls, older = list(state.state.cline_messages), [*state.state.calls], state.state.older_rows
    while older:
        page = await stage.session.older_rows(OlderRowsRequest(before_ts=rows[0].ts, limit=170))
        assert isinstance(page, OlderRows) and page.messages
        rows[:0], calls[:0], older = page.messages, page.calls, page.older_rows
    return rows, without_place(tuple(calls))


def by_id(past: PastCall) -> str:
    return past.call_id


def held(stage: Stage) -> int:
    """The most rows that a task of this session has in memory; a client is never sent as many."""
    gc.collect()
    task_id = stage.session.state().current_task_id
    return max(len(rows.messages) for rows in gc.get_objects() if isinstance(rows, Rows) and rows.task_id == task_id)


def test_a_client_that_comes_late_gets_every_row_of_a_long_task(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert len(stage.rows) > MOST_HELD and held(stage) < MOST_HELD
        rows, calls = await all_pages(stage)
        assert rows == list(stage.rows)
        assert sorted(calls, key=by_id) == sorted(seen_live(stage), key=by_id) and len(calls) == 280

    play(workspace, LOOKS, story)


def test_a_row_that_still_grows_is_held_however_much_is_said_meanwhile(tmp_path: Path) -> None:
    bus = EventBus(Redactor())
    log = SessionLog.create(tmp_path / "session", lambda: 1)
    rows = Rows("task", Journal(log, bus), bus, later=lambda seconds, call: None)
    growing = rows.stream("command_output")
    growing.append("a beginning")
    for number in range(MOST_HELD):
        rows.say("text", f"{number}")
    assert len(rows.messages) == MOST_HELD + 1
    growing.append(" and an end")
    growing.finish()
    for number in range(MOST_HELD):
        rows.say("text", f"{number}")
    assert len(rows.messages) < MOST_HELD and rows.older is not None and rows.count == 2 * MOST_HELD + 1
    first = rows_before(log.path, "task", rows.older, rows.messages[0].ts, rows.count).rows[0]
    assert (first.text, first.partial) == ("a beginning and an end", False)
    log.close()


def test_rows_of_a_log_that_cannot_be_written_are_all_held(tmp_path: Path) -> None:
    bus = EventBus(Redactor())
    log = SessionLog.create(tmp_path / "session", lambda: 1)
    rows = Rows("task", Journal(log, bus), bus, later=lambda seconds, call: None)
    log.close()
    for number in range(2 * MOST_HELD):
        rows.say("text", f"{number}")
    assert [row.text for row in rows.messages] == [f"{number}" for number in range(2 * MOST_HELD)]


def test_what_was_said_before_somebody_went_back_is_not_among_the_rows_that_are_read(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await prompted_twice(stage)
        await gone(stage, RewindTo(number=2))
        ask = await stage.until_ask("resume_completed_task")
        await stage.answer("messageResponse", "look", ask.ts)
        await stage.until_ask("completion_result")
        assert held(stage) < MOST_HELD
        rows, _ = await all_pages(stage)
        said = [row.text for row in rows if row.say == "text"]
        assert "first done" in said and "second done" not in said and said.count("That was all.") == 1

    play(workspace, [*TWO_PROMPTS, *LOOKS], story, permission_mode=PermissionMode.ACCEPT_EDITS)


def test_rows_of_a_session_that_was_taken_up_are_let_go_of_too(workspace: Path) -> None:
    async def first(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")

    play(workspace, [{**LOOKS[0], "repeat": 80}, LOOKS[1]], first, permission_mode=PermissionMode.BYPASS)

    async def story(stage: Stage) -> None:
        await first_state(stage)
        await stage.answer("messageResponse", "Look again.")
        await stage.until_ask("completion_result")
        assert held(stage) < MOST_HELD
        rows, _ = await all_pages(stage)
        reading = LogReading(max_rows=10_000)
        reading.read(stage.opened.log.path)
        [task] = reading.session().tasks.values()
        assert rows == list(task.messages) and len(rows) > 800

    resume(workspace, LOOKS, story)
