"""Agents in the background: their reports reach the task exactly once, whatever it does meanwhile."""

import asyncio
import re
from pathlib import Path
from typing import Any

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.contracts.tool import RESULT_CHARACTERS
from robota.protocol.asks.answer import Approve, Say
from robota.protocol.calls import BackgroundStatus
from robota.protocol.commands import Accepted, AskResponse, CancelTask, RewindTo
from robota.protocol.conversation import TextBlock, UserTurn
from robota.protocol.events import BackgroundTasks, MessageCreated
from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "The parent is done."}
REPORT = '<agent_report id="agent_1">\nSlow is done.\n</agent_report>'


def start(prompt: str, **more: object) -> dict[str, Any]:
    return call("agent", description="look", prompt=prompt, run_in_background=True, **more)


def told(stage: Stage) -> str:
    """Everything that the model was told besides results of calls."""
    task = stage.logged().root
    assert task is not None
    turns = (turn for turn in task.conversation().turns if isinstance(turn, UserTurn))
    return "\n".join(block.text for turn in turns for block in turn.content if isinstance(block, TextBlock))


def test_a_report_wakes_a_task_that_waits_for_the_next_prompt(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        ask = await stage.until_ask("tool")
        await stage.submit(AskResponse(answer=Approve(), ts=ask.ts))
        await stage.until_ask("completion_result")
        assert stage.says("text")[-1] == "The report has come." and told(stage).count(REPORT) == 1
        assert "works in the background" in tool_results(stage)[0].content
        [listed] = stage.events_of(BackgroundTasks)[-1].tasks
        assert listed.status is BackgroundStatus.COMPLETED and "Slow is done." in listed.preview

    turns = [
        {"calls": [start("slow work")]},
        {"text": "It runs."},
        {"task": "slow work", "delayMs": 200, "calls": [call("write_to_file", path="a", content="x")]},
        {"task": "slow work", "text": "Slow is done."},
        {"text": "The report has come.", "expect": {"user": "Slow is done."}},
    ]
    play(workspace, turns, story)


def test_a_task_that_nobody_attends_waits_for_its_agents(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert stage.says("text")[-1] == "The report has come." and told(stage).count(REPORT) == 1

    turns = [
        {"calls": [start("slow work")]},
        {"text": "It runs."},
        {"task": "slow work", "delayMs": 300, "text": "Slow is done."},
        {"text": "The report has come.", "expect": {"user": "Slow is done."}},
    ]
    play(workspace, turns, story, attended=False)


def test_a_report_that_is_too_long_is_cut_and_kept_whole(workspace: Path) -> None:
    long = "".join(f"fact {number}\n" for number in range(10_000))

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert len(told(stage)) < RESULT_CHARACTERS and told(stage).endswith("</agent_report>")
        [(name, offset)] = re.findall(r'\{"artifact_id":"(\w{8})","offset":(\d+)\}\]\n</agent', told(stage))
        kept = stage.opened.log.find_artifact(name).read_text()
        assert kept == long and f"{kept[: int(offset)]}\n[… " in told(stage)

    turns = [
        {"calls": [start("slow work")]},
        {"text": "It runs."},
        {"task": "slow work", "delayMs": 300, "text": long},
        {"text": "The report has come."},
    ]
    play(workspace, turns, story, attended=False)


def test_an_agent_that_nobody_can_answer_is_told_so(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until(lambda event: isinstance(event, MessageCreated) and event.message.ask == "completion_result")
        assert "No answer." in tool_results(stage)[0].content
        logs = [path.read_text() for path in (workspace / ".robota/sessions").rglob("log.jsonl")]
        assert "No user is present" in "".join(logs) and "<user_message>" not in "".join(logs), "no user said that"

    question = call("ask_followup_question", question="Which?", follow_up=[{"text": "A"}])
    turns = [
        {"calls": [call("agent", description="d", prompt="ask something")]},
        {"task": "ask something", "calls": [question]},
        {"task": "ask something", "text": "No answer.", "expect": {"result": "No user is present"}},
        {**DONE, "expect": {"result": "No answer."}},
    ]
    play(workspace, turns, story, attended=False)


def test_a_report_that_was_waited_for_is_not_told_again(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert REPORT in tool_results(stage)[1].content and REPORT not in told(stage)

    turns = [
        {"calls": [start("slow work")]},
        {"calls": [call("agent_wait", ids=["agent_1"])]},
        {"task": "slow work", "delayMs": 100, "text": "Slow is done."},
        DONE,
    ]
    play(workspace, turns, story)


def test_an_agent_that_has_ended_goes_on_with_another_message(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "goes on in the background" in tool_results(stage)[1].content
        assert "Second report." in tool_results(stage)[2].content

    turns = [
        {"calls": [{"name": "agent", "arguments": {"description": "d", "prompt": "part one", "name": "worker"}}]},
        {"task": "part one", "text": "First report."},
        {"calls": [call("agent_send", to="worker", message="and part two")]},
        {"task": "part one", "text": "Second report.", "expect": {"user": "and part two", "turns": 3}},
        {"calls": [call("agent_wait", ids=["worker"])]},
        DONE,
    ]
    play(workspace, turns, story)


def test_stopping_one_agent_leaves_the_others(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        results = [result.content for result in tool_results(stage)]
        assert "agent_1 was stopped" in results[2] and "agent_2 (general-purpose) completed" in results[3]

    turns = [
        {"calls": [start("for ever"), start("soon done")]},
        {"task": "for ever", "delayMs": 600_000, "text": "Never."},
        {"task": "soon done", "delayMs": 100, "text": "Done soon."},
        {"calls": [call("agent_stop", id="agent_1"), call("agent_wait", ids=["agent_2"])]},
        DONE,
    ]
    play(workspace, turns, story)


def test_only_so_many_agents_work_at_once_and_the_others_are_told_so(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        running = [
            sum(task.status is BackgroundStatus.RUNNING for task in event.tasks)
            for event in stage.events_of(BackgroundTasks)
        ]
        assert max(running) == 8
        results = tool_results(stage)
        assert "It has started." in results[0].content and "it waits for its turn" in results[9].content
        assert results[-1].content.count("completed") == 10

    turns: list[Any] = [{"calls": [start(f"work {n}.") for n in range(10)]}]
    turns += [{"task": f"work {n}.", "delayMs": 50, "text": "Done."} for n in range(10)]
    turns += [{"calls": [call("agent_wait", ids=[f"agent_{n + 1}" for n in range(10)])]}, DONE]
    play(workspace, turns, story)


def test_agents_that_wait_for_agents_of_their_own_lend_them_their_slots(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert all("Inner." in result.content for result in tool_results(stage))

    turns: list[Any] = [{"calls": [call("agent", description="d", prompt=f"outer {n}.") for n in range(8)]}]
    for n in range(8):
        turns.append({"task": f"outer {n}.", "calls": [call("agent", description="d", prompt=f"inner {n}.")]})
        turns.append({"task": f"inner {n}.", "text": "Inner."})
        turns.append({"task": f"outer {n}.", "text": "Inner.", "expect": {"result": "Inner."}})
    play(workspace, [*turns, DONE], story)


def test_rewinding_undoes_an_agent_and_its_files(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("first")
        await stage.until_ask("completion_result")
        await stage.submit(AskResponse(answer=Say(text="second")))
        await stage.until_ask("completion_result")
        assert (workspace / "a").exists()
        receipt = await stage.submit(RewindTo(number=2))
        assert isinstance(receipt, Accepted), receipt
        assert not (workspace / "a").exists()
        ask = await stage.until_ask("resume_completed_task")
        await stage.submit(AskResponse(answer=Say(text="again"), ts=ask.ts))
        await stage.until_ask("completion_result")
        assert "None of your agents is called 'agent_1'" in tool_results(stage)[-1].content

    turns = [
        {"text": "Hello."},
        {"calls": [call("agent", description="d", prompt="write it")]},
        {"task": "write it", "calls": [call("write_to_file", path="a", content="after\n")]},
        {"task": "write it", "text": "Written."},
        DONE,
        {"calls": [call("agent_send", to="agent_1", message="go on")]},
        DONE,
    ]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_a_report_survives_the_end_of_the_process(workspace: Path) -> None:
    """The agent was cut off when the session was closed; the task is told when it is resumed, once."""
    env = {"ROBOTA_HOME": str(workspace.parent / "robota-home"), "ROBOTA_ENVIRONMENT": "0"}

    def profile(*turns: object) -> Profile:
        return Profile(type="scripted", name="script", model="scripted", options={"turns": list(turns)})

    async def run() -> None:
        slow = {"task": "slow work", "delayMs": 600_000, "text": "Never."}
        first = profile({"calls": [start("slow work")]}, {"text": "It runs."}, slow)
        opened = open_session(LaunchOptions(cwd=workspace, profile=first), env)
        stage = Stage(opened)
        await stage.start()
        await stage.until_ask("completion_result")
        await opened.close()
        for expected in ("agent_1 (general-purpose) was stopped", "again"):
            launch = LaunchOptions(cwd=workspace, profile=profile({"text": "I know."}), resumes=opened.log.path.parent)
            resumed = open_session(launch, env)
            stage = Stage(resumed)
            await resumed.resume()
            ask = await stage.until_ask("resume_completed_task")
            await stage.submit(AskResponse(answer=Say(text="again"), ts=ask.ts))
            await stage.until_ask("completion_result")
            await resumed.close()
            assert expected in told(stage)
        assert told(stage).count("was stopped") == 1

    asyncio.run(run())


def test_an_interruption_stops_agents_in_the_background_and_the_task_is_told(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        await stage.submit(CancelTask())
        ask = await stage.until_ask("resume_task")
        await stage.submit(AskResponse(answer=Say(text="go on"), ts=ask.ts))
        await stage.until_ask("completion_result")
        assert "agent_1 (general-purpose) was stopped" in told(stage)

    turns = [
        {"calls": [start("slow work")]},
        {"text": "It runs."},
        {"task": "slow work", "delayMs": 600_000, "text": "Never."},
        {"text": "I know.", "expect": {"user": "was stopped"}},
    ]
    play(workspace, turns, story)
