"""A session with many rows: its end is there at once, older rows come when a client asks for them."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.log.chain.reader import LOG_NAME
from robota.log.chain.writer import wall_clock_ms
from robota.log.kinds.conversation import MessageRecord
from robota.log.kinds.session import SessionHeader, TaskRecord
from robota.log.new_session import begin_session
from robota.protocol.commands import OlderRowsRequest, Refused
from robota.protocol.events import Notice, OlderRows, State
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.version import VERSION
from tests.engine.stage import Stage, play
from tests.engine.task.test_resumption import resume

ROWS = 700
TEXT = "words of a long conversation " * 120


@pytest.fixture
def rows(workspace: Path) -> list[int]:
    """The `ts` of all rows of a long session that was left."""
    log = begin_session(workspace, workspace.parent / "robota-home", wall_clock_ms, "long").log
    log.append(
        SessionHeader(
            id="long",
            cwd=str(workspace),
            model="scripted",
            provider="script",
            permission_mode=PermissionMode.DEFAULT,
            completion="implicit",
            version=VERSION,
        )
    )
    log.append(TaskRecord(task_id="t", mode="code"))
    stamps = [log.next_ts() for _ in range(ROWS)]
    for ts in stamps:
        log.append(MessageRecord(task_id="t", message=Message(ts=ts, type="say", say="text", text=TEXT)))
    log.close()
    return stamps


def test_the_end_is_shown_and_older_rows_come_page_by_page(workspace: Path, rows: list[int]) -> None:
    async def story(stage: Stage) -> None:
        first = await stage.until(lambda event: isinstance(event, State))
        assert isinstance(first, State)
        stamps, older = [row.ts for row in first.state.cline_messages], first.state.older_rows
        assert len(stamps) == 300 and older == len(rows) + 1 - 300
        while older:
            await stage.submit(OlderRowsRequest(before_ts=stamps[0], limit=70, request_id="p"))
            page = await stage.until(lambda event: isinstance(event, OlderRows))
            assert isinstance(page, OlderRows) and page.request_id == "p"
            assert len(page.messages) == min(70, older) and page.older_rows == older - len(page.messages)
            stamps[:0] = [row.ts for row in page.messages]
            older = page.older_rows
        assert stamps[: len(rows)] == rows
        whole = await stage.session.older_rows(OlderRowsRequest(limit=1_000))
        assert isinstance(whole, OlderRows) and [row.ts for row in whole.messages] == stamps
        none = await stage.session.older_rows(OlderRowsRequest(before_ts=rows[0], limit=-5))
        assert none == OlderRows(task_id=whole.task_id, messages=())

    resume(workspace, [], story)


@pytest.mark.usefixtures("rows")
def test_a_snapshot_is_made_by_another_process_than_the_one_that_writes_the_log(workspace: Path) -> None:
    """What it needs to know of the whole conversation is not in the memory of the session."""
    home = workspace.parent / "other-home"
    [session] = (workspace / ".robota/sessions").iterdir()
    program = (
        "import pathlib, sys\n"
        "from robota.log.snapshot_keeper import SnapshotKeeper\n"
        "SnapshotKeeper(*map(pathlib.Path, sys.argv[1:]))()\n"
        "print([name for name in sys.modules if name.startswith('robota.log.replay')])\n"
    )
    command = [sys.executable, "-c", program, str(home), str(session)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
    names = sorted(path.suffix for path in (home / "snapshots").iterdir())
    assert names == ["", ".rewind"]  # and with it what `robota rewind list` shows


def test_without_a_task_there_are_no_rows(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        assert isinstance(await stage.session.submit(OlderRowsRequest()), Refused)

    play(workspace, [], story)


def test_damage_in_the_part_that_was_not_read_is_named_while_the_session_goes_on(
    workspace: Path, rows: list[int]
) -> None:
    home = workspace.parent / "robota-home"
    assert len(list((home / "snapshots").iterdir())) == 2  # written when the session was closed
    [log] = (workspace / ".robota/sessions").glob(f"*/{LOG_NAME}")
    log.write_bytes(log.read_bytes().replace(b'"mode":"code"', b'"mode":"coda"', 1))

    async def resume() -> tuple[str, ...]:
        profile = Profile(type="scripted", name="script", model="scripted", options={"turns": []})
        opened = open_session(
            LaunchOptions(cwd=workspace, profile=profile, resumes=log.parent), {"ROBOTA_HOME": str(home)}
        )
        try:
            await opened.resume()
            stage = Stage(opened)
            notice = await stage.until(lambda event: isinstance(event, Notice) and event.level == "warning")
            assert isinstance(notice, Notice) and "damaged" in notice.text and "Line 2 of the log" in notice.text
        finally:
            await opened.close()
        return opened.notices

    assert not any("damaged" in notice for notice in asyncio.run(resume()))
    assert not list((home / "snapshots").iterdir())
