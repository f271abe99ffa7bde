"""Processes of agents and of those who start them are killed: nothing is left running, and everything can go on."""

import asyncio
import json
import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Any

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.log.chain.reader import load
from robota.protocol.asks.answer import Approve, Say
from robota.protocol.commands import AskResponse
from robota.protocol.events import BackgroundTasks, Event
from tests.cli.scripts import script, trust, write_settings
from tests.engine.stage import Stage, call, play, tool_results
from tests.engine.task.agents.test_process_agents import DONE, OWN_PROCESSES, start
from tests.harness.cli import EXECUTABLE, Robota, clean_environment

NEVER = {"delayMs": 600_000, "text": "Never."}


def pid_in(event: Event) -> int | None:
    tasks = event.tasks if isinstance(event, BackgroundTasks) else ()
    return next((task.pid for task in tasks if task.pid is not None), None)


def test_the_end_of_its_process_is_told_and_another_message_goes_on_from_its_log(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        pid = pid_in(await stage.until(lambda event: pid_in(event) is not None))
        assert pid is not None
        await stage.until_ask("tool")
        os.kill(pid, signal.SIGKILL)
        ask = await stage.until_ask("tool")  # its script begins anew with its process
        await stage.submit(AskResponse(answer=Approve(), ts=ask.ts))
        await stage.until_ask("completion_result")
        results = [result.content for result in tool_results(stage)]
        assert "agent_1 (general-purpose) failed" in results[0] and "ended unexpectedly" in results[0]
        assert "Written again." in results[2]

    turns = [
        {"calls": [start("write it")]},
        {"task": "write it", "calls": [call("write_to_file", path="a", content="x")]},
        {"calls": [call("agent_send", to="agent_1", message="only say it")]},
        {"calls": [call("agent_wait", ids=["agent_1"])]},
        DONE,
    ]
    again = {"task": "write it", "text": "Written again."}
    play(
        workspace,
        [*turns, again],
        story,
        settings=OWN_PROCESSES,
        profile_options={"otherwise": {"text": "Written again."}},
    )


def test_no_process_is_left_after_whoever_started_it_was_killed(robota: Robota) -> None:
    trust(robota)
    script(robota, {"calls": [start("for ever")]}, {"task": "for ever", **NEVER})
    path = robota.home / ".robota" / "settings.json"
    settings: dict[str, Any] = {**json.loads(path.read_text()), **OWN_PROCESSES}
    write_settings(robota, settings)
    root = subprocess.Popen(
        [EXECUTABLE, "-p", "go", "--output-format", "stream-json", "--include-partial-messages"],
        cwd=robota.workspace,
        env=clean_environment(robota.home),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert root.stdout is not None
    children: list[int] = []
    for line in root.stdout:
        children = [int(pid) for pid in Path(f"/proc/{root.pid}/task/{root.pid}/children").read_text().split()]
        if children and "task_started" in line:
            break
    root.kill()
    root.wait()
    for child in children:
        _until_gone(child)
    for log in (robota.workspace / ".robota" / "sessions").glob("*/log.jsonl"):
        assert load(log).problems == ()


def _until_gone(pid: int) -> None:
    """The kernel tells of the end of a process that is no child of ours."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([descriptor], [], [], 10)[0], f"{pid} still runs"
    os.close(descriptor)


def test_an_agent_of_an_earlier_process_goes_on_but_not_one_that_the_user_stopped(workspace: Path) -> None:
    env = {"ROBOTA_HOME": str(workspace.parent / "robota-home"), "ROBOTA_ENVIRONMENT": "0"}

    def launch(*turns: object, **more: Any) -> LaunchOptions:
        profile = Profile(type="scripted", name="script", model="scripted", options={"turns": list(turns)})
        return LaunchOptions(cwd=workspace, profile=profile, **more)

    async def run() -> None:
        background = [start("slow work", run_in_background=True), start("stopped work", run_in_background=True)]
        first = launch(
            {"calls": background},
            {"text": "Both run."},
            {"text": "One was stopped."},
            {"task": "slow work", **NEVER},
            {"task": "stopped work", **NEVER},
        )
        opened = open_session(first, env)
        stage = Stage(opened)
        await stage.start()
        await stage.until_ask("completion_result")
        stopped = opened.session.background.find("agent_2")
        assert stopped is not None
        await opened.session.background.stop(stopped)
        await stage.until_ask("completion_result")
        await opened.close()
        send = [call("agent_send", to=f"agent_{number}", message="go on") for number in (1, 2)]
        second = launch(
            {"calls": send},
            {"calls": [call("agent_wait", ids=["agent_1"])]},
            {"text": "Known."},
            {"task": "slow work", "text": "Slow is done."},
            resumes=opened.log.path.parent,
        )
        resumed = open_session(second, env)
        stage = Stage(resumed)
        await resumed.resume()
        ask = await stage.until_ask("resume_completed_task")
        await stage.submit(AskResponse(answer=Say(text="again"), ts=ask.ts))
        await stage.until_ask("completion_result")
        results = [result.content for result in tool_results(stage)][-3:]
        await resumed.close()
        assert "goes on in the background" in results[0] and "The user stopped agent agent_2" in results[1]
        assert "Slow is done." in results[2]

    asyncio.run(run())
