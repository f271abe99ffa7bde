"""A host: several sessions in one process, those of other processes, and stored ones, through one interface."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from robota.protocol.asks.answer import Approve
from robota.protocol.commands import Accepted, AskResponse, NewTask, Refused, RunSlashCommand
from robota.protocol.connection.known_session import SessionStart
from robota.protocol.connection.message_processor import MessageProcessor
from robota.protocol.message import Message
from robota.protocol.port import HostPort, SessionPort, SessionWindow
from robota.serving.session_host import SessionHost
from robota.transport.entering import enter, enter_again
from tests.cli.scripts import call, script
from tests.harness.cli import Robota, clean_environment
from tests.serving.test_door import serving

COMMAND = "pwd > here.txt"
WRITES = {"calls": [call("execute_command", command=COMMAND)]}


def another(tmp_path: Path, name: str) -> Robota:
    """Another user with another workspace on the same machine."""
    home, workspace = tmp_path / f"{name}-home", tmp_path / f"{name}-workspace"
    home.mkdir()
    workspace.mkdir()
    return Robota(workspace, home)


@asynccontextmanager
async def hosting(robota: Robota) -> AsyncIterator[SessionHost]:
    host = SessionHost(clean_environment(robota.home))
    try:
        yield host
    finally:
        await host.close_all()


async def opened(host: HostPort, cwd: Path) -> SessionWindow:
    window = await host.open(SessionStart(cwd=str(cwd)))
    assert not isinstance(window, Refused), window
    return window


async def until_ask(port: SessionPort, kind: str) -> Message:
    """Follow the session until it asks this."""
    processor = MessageProcessor()
    async for event in port.events():
        for _ in processor.process(event):
            pass
        if processor.store.agent_state.current_ask == kind:
            return processor.store.messages[-1]
    raise AssertionError(f"the session ended before it asked {kind}")


def test_sessions_of_one_process_know_nothing_of_each_other(robota: Robota, tmp_path: Path) -> None:
    other = another(tmp_path, "other")
    for each in (robota, other):
        script(each, WRITES, {"text": "Done."})

    async def run() -> None:
        async with hosting(robota) as first, hosting(other) as second:
            windows = [await opened(first, robota.workspace), await opened(second, other.workspace)]
            for window in windows:
                assert isinstance(await window.session.submit(NewTask(text="go")), Accepted)
            for window in windows:
                await until_ask(window.session, "command")
            for host, window in zip((first, second), windows, strict=True):
                (pending,) = await host.inbox()
                assert pending.session.session_id == window.hello.session_id
                assert [each.session_id for each in await host.sessions()] == [window.hello.session_id]
            await windows[1].session.submit(AskResponse(answer=Approve()))
            await until_ask(windows[1].session, "completion_result")
            assert len(await first.inbox()) == 1 and await second.inbox() == ()
            await windows[0].session.submit(AskResponse(answer=Approve()))
            await until_ask(windows[0].session, "completion_result")

    asyncio.run(run())
    for each in (robota, other):
        assert (each.workspace / "here.txt").read_text() == f"{each.workspace.resolve()}\n"


def test_a_session_that_another_window_stops_or_changes_leaves_the_other_sessions_of_the_process(
    robota: Robota, tmp_path: Path
) -> None:
    """`robota stop` and `/model` are about one session, whichever process runs it."""
    script(robota, {"text": "Done."}, {"text": "Again."})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async def run() -> None:
        async with hosting(robota) as host:
            stopped, changed = [await opened(host, cwd) for cwd in (robota.workspace, elsewhere)]
            for window in (stopped, changed):
                await window.session.submit(NewTask(text="go"))
                await until_ask(window.session, "completion_result")
            stopping = await asyncio.to_thread(robota, "stop", stopped.hello.session_id)
            assert stopping.code == 0, stopping
            assert isinstance(await host.attach(stopped.hello.session_id), Refused)
            session, _ = await enter(robota.home / ".robota/run", changed.hello.session_id, "test")
            receipt = await session.submit(RunSlashCommand(line="/model other"))
            assert isinstance(receipt, Accepted), receipt
            again = await enter_again(robota.home / ".robota/run", changed.hello.session_id, "test")
            assert again is not None
            (running,) = [each for each in await host.sessions() if each.process is not None]
            assert (running.session_id, running.model) == (changed.hello.session_id, "other")
            there = await host.attach(changed.hello.session_id)
            assert not isinstance(there, Refused)
            await until_ask(there.session, "resume_completed_task")
            await again[0].close()
            await session.close()

    asyncio.run(run())


def test_a_host_lists_opens_resumes_attaches_and_answers(robota: Robota, tmp_path: Path) -> None:
    script(robota, WRITES, {"text": "Done."})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async def run(far: Any) -> None:
        async with hosting(robota) as host:
            near = await opened(host, elsewhere)
            await near.session.submit(NewTask(text="near task"))
            await until_ask(near.session, "command")
            running = {each.session_id: each.process for each in await host.sessions() if each.process is not None}
            assert running[near.hello.session_id].is_here and not running[far.id].is_here
            assert [each.session_id for each in await host.sessions(str(elsewhere))] == [near.hello.session_id]
            assert {each.session.session_id for each in await host.inbox()} == {near.hello.session_id, far.id}
            window = await host.attach(far.id)
            assert not isinstance(window, Refused)
            assert isinstance(await window.session.submit(AskResponse(answer=Approve())), Accepted)
            await window.leave()
            # What is closed with an open question is still asked, and continues where it was.
            assert isinstance(await host.close(near.hello.session_id), Accepted)
            (pending,) = [each for each in await host.inbox() if each.session.session_id != far.id]
            assert pending.session.process is None and pending.session.cwd == str(elsewhere.resolve())
            script(robota, {"text": "Done."})
            again = await host.resume(near.hello.session_id)
            assert not isinstance(again, Refused)
            assert isinstance(await again.session.submit(AskResponse(answer=Approve(), ts=pending.ask.ts)), Accepted)
            await until_ask(again.session, "completion_result")
            assert isinstance(await host.close("unknown"), Refused)
            for refused in (await host.resume("unknown"), await host.attach("unknown")):
                assert isinstance(refused, Refused)
            missing = await host.open(SessionStart(cwd=str(tmp_path / "missing")))
            assert isinstance(missing, Refused) and "Nothing was started" in missing.message

    with serving(robota) as far:
        far.send(type="newTask", text="far task")
        far.until_ask("command")
        asyncio.run(run(far))
        far.until_ask("completion_result")
    assert (elsewhere / "here.txt").is_file() and (robota.workspace / "here.txt").is_file()
