"""`/agent` in a conversation and in print mode: every form of it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from robota.commands.session_commands import with_commands
from robota.protocol.asks.answer import Say
from robota.protocol.calls import BackgroundStatus, GroupStatus
from robota.protocol.commands import Accepted, AskResponse, Receipt, Refused, RunSlashCommand
from robota.protocol.events import BackgroundGroups, BackgroundTasks, Event, Notice
from robota.protocol.slash_commands import AgentsShown, CommandShown, RowsShown
from robota.protocol.views import TableView, TextView
from tests.cli.scripts import script
from tests.engine.stage import Stage, play
from tests.harness.cli import Robota

SLOW = {"task": "slow work", "delayMs": 600_000, "text": "Never."}


class Typed:
    """A conversation in which lines are typed."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._port = with_commands(stage.opened, {})

    async def line(self, text: str) -> Receipt:
        return await self._port.submit(RunSlashCommand(line=text))

    async def text(self, line: str) -> str:
        """What the command says."""
        receipt = await self.line(line)
        assert isinstance(receipt, Accepted), receipt
        assert isinstance(receipt.outcome, CommandShown), receipt
        view = receipt.outcome.view
        assert isinstance(view, TextView | TableView)
        return view.text if isinstance(view, TextView) else "\n".join(" ".join(row) for row in view.rows)


def converse(workspace: Path, turns: list[Any], story: Callable[[Typed], Awaitable[None]], **launch: Any) -> None:
    play(workspace, turns, lambda stage: story(Typed(stage)), **launch)


def has_ended(event: Event) -> bool:
    return isinstance(event, Notice) and "Its report" in event.text


def test_an_agent_starts_without_a_task_and_its_report_comes_with_the_next_prompt(workspace: Path) -> None:
    async def story(typed: Typed) -> None:
        stage = typed.stage
        assert "works in the background" in await typed.text("/agent Explore where are the notes?")
        notice = await stage.until(has_ended)
        assert (
            isinstance(notice, Notice) and notice.text == "Explore agent_1 completed. Its report: /agent read agent_1"
        )
        listed = stage.events_of(BackgroundTasks)[-1].tasks[0]
        assert listed.is_unread and listed.label == "Explore agent_1" and listed.requests == 1
        assert listed.started_at and listed.completed_at and listed.completed_at > listed.started_at
        read = await typed.line("/agent read 1")
        assert isinstance(read, Accepted) and isinstance(read.outcome, RowsShown)
        assert [row.text for row in read.outcome.rows.messages if row.say == "text"] == [
            "where are the notes?",
            "In notes.md.",
        ]
        assert "completed 1" in await typed.text("/agent"), "it is read now"
        await stage.submit(AskResponse(answer=Say(text="thank you")))
        await stage.until_ask("completion_result")
        assert stage.says("text")[-1] == "You have it."

    turns = [
        {"task": "where are the notes", "text": "In notes.md."},
        {"expect": {"user": "In notes.md."}, "text": "You have it."},
    ]
    converse(workspace, turns, story)


def test_a_report_of_the_users_agent_makes_no_request_by_itself(workspace: Path) -> None:
    async def story(typed: Typed) -> None:
        stage = typed.stage
        await stage.start()
        await stage.until_ask("completion_result")
        await typed.text("/agent look")
        await stage.until(has_ended)
        task = stage.logged().root
        assert task is not None and task.totals.requests == 1

    converse(workspace, [{"text": "Hello."}, {"task": "look", "text": "Seen."}], story)


def test_agents_together_are_a_group_with_a_result_of_each(workspace: Path) -> None:
    async def story(typed: Typed) -> None:
        line = """/agent parallel --wait one:"say \\"yes\\"" two=explore:'say no'"""
        summary = await typed.text(line)
        assert summary.splitlines()[0] == "group_1: 2 completed, 0 failed, 0 cancelled, 0 running"
        assert "[completed] one agent_1: Yes. (output: " in summary and "[completed] two agent_2: No." in summary
        assert await typed.text("/agent wait group_1") == summary == await typed.text("/agent wait 1")
        await typed.stage.until(lambda event: isinstance(event, BackgroundTasks) and len(event.tasks) == 2)
        groups = [each for event in typed.stage.events_of(BackgroundGroups) for each in event.groups]
        assert not groups or groups[0].status is GroupStatus.RUNNING

    turns = [{"task": 'say "yes"', "text": "Yes."}, {"task": "say no", "text": "No."}]
    converse(workspace, turns, story)


def test_a_group_can_be_complete_with_the_first_of_its_members(workspace: Path) -> None:
    async def story(typed: Typed) -> None:
        summary = await typed.text('/agent parallel --any fast:"fast work" slow:"slow work"')
        assert summary.splitlines()[0] == "group_1: 1 completed, 0 failed, 0 cancelled, 1 running"
        assert "is still running" in await typed.text("/agent close slow")
        assert await typed.text("/agent stop slow no longer needed") == "Stopped: slow: slow work."
        assert "1 cancelled, 0 running" in await typed.text("/agent wait group_1")
        assert await typed.text("/agent close slow") == "Removed: agent_2."
        assert "agent_2" not in await typed.text("/background list")

    converse(workspace, [SLOW, {"task": "fast work", "text": "Fast."}], story)


def test_an_agent_gets_another_message(workspace: Path) -> None:
    async def story(typed: Typed) -> None:
        await typed.text("/agent run --name worker part one")
        await typed.stage.until(has_ended)
        assert "goes on in the background" in await typed.text("/agent send worker and part two")
        assert await typed.text("/agent wait worker") == "Second."

    turns = [
        {"task": "part one", "text": "First."},
        {"task": "part one", "expect": {"user": "and part two"}, "text": "Second."},
    ]
    converse(workspace, turns, story)


def test_background_lists_reads_and_stops_agents_like_processes(workspace: Path) -> None:
    async def story(typed: Typed) -> None:
        await typed.text("/agent slow work")
        running = lambda event: (  # noqa: E731
            isinstance(event, BackgroundTasks) and event.tasks[0].status is BackgroundStatus.RUNNING
        )
        await typed.stage.until(running)
        assert "agent_1 agent running" in await typed.text("/background")
        read = await typed.line("/background read agent_1")
        assert isinstance(read, Accepted) and isinstance(read.outcome, RowsShown)
        assert await typed.text("/background cancel agent_1") == "Ended: agent_1 (general-purpose: slow work)."
        assert await typed.text("/background close all") == "Removed: agent_1."

    converse(workspace, [SLOW], story)


def test_agents_are_opened_in_full_screen(workspace: Path) -> None:
    async def story(typed: Typed) -> None:
        await typed.text("/agent --model other slow work")
        opened = await typed.line("/agent open agent_1")
        assert isinstance(opened, Accepted) and isinstance(opened.outcome, AgentsShown)
        assert opened.outcome.task_id == typed.stage.session.background.agents[0].task.runtime.task_id
        await asyncio.sleep(0)

    converse(workspace, [SLOW], story)


def test_wrong_lines_start_nothing(workspace: Path) -> None:
    async def story(typed: Typed) -> None:
        for line in (
            "/agent run",
            "/agent parallel",
            "/agent parallel one:unquoted",
            '/agent parallel one:"a" one:"b"',
            "/agent wait",
            "/agent wait group_9",
            "/agent read agent_9",
            "/agent send agent_9 hello",
            "/agent --agent nobody hello",
            "/agent --isolation jail hello",
            "/agent --isolation remote hello",
        ):
            assert isinstance(await typed.line(line), Refused), line
        assert not typed.stage.session.background.agents
        assert "There are no agents" in await typed.text("/agent")

    converse(workspace, [], story)


def test_print_mode_waits_for_the_agent_and_prints_its_report(robota: Robota) -> None:
    script(robota, {"task": "count the files", "text": "Three files."})
    assert robota("-p", "/agent count the files").stdout == "Three files.\n"
    script(robota, {"task": "count a", "text": "One."}, {"task": "count b", "text": "Two."})
    shown = robota("-p", '/agent parallel a:"count a" b:"count b"').stdout
    assert "2 completed" in shown and "One." in shown and "Two." in shown
