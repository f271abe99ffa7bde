"""A task in another mode: the model is told of its role, its tools and the modes there are."""

from pathlib import Path

from robota.engine.model.system_prompt import STATE_NOW
from robota.log.chain.reader import load
from robota.log.replay.requests import recorded_requests
from robota.protocol.commands import Accepted, SetPermissionMode, SwitchMode
from robota.protocol.conversation import TextBlock
from robota.protocol.events import TaskModeSwitched
from robota.protocol.permission_mode import PermissionMode
from tests.engine.stage import Stage, call, play, tool_results

QUESTION = call(
    "ask_followup_question",
    question="Plan first?",
    follow_up=[{"text": "Plan it", "mode": "architect"}, {"text": "Build it"}],
)


def heads(stage: Stage) -> list[tuple[str, str]]:
    """System prompt and tools of what was requested, each time that one of them changed."""
    log = stage.opened.log
    found = [(each.system, str(each.tools)) for each in recorded_requests(load(log.path).records, log.artifact)]
    return list(dict.fromkeys(found))


def reminders(stage: Stage) -> list[str]:
    """What the model was told of changes of the session."""
    task = stage.logged().current
    assert task is not None
    blocks = [block for turn in task.conversation().turns for block in turn.content]
    return [block.text for block in blocks if isinstance(block, TextBlock) and STATE_NOW in block.text]


def test_a_mode_that_can_do_less_keeps_the_prompt_and_is_told_in_a_reminder(workspace: Path) -> None:
    """With `/mode architect`: the provider's cache holds, and what the mode lacks is refused when it is called."""

    async def story(stage: Stage) -> None:
        await stage.start("hello")
        await stage.until_ask("completion_result")
        assert isinstance(await stage.submit(SwitchMode(text="architect")), Accepted)
        await stage.answer("messageResponse", "plan it")
        await stage.until_ask("completion_result")
        assert isinstance(await stage.submit(SwitchMode(text="code")), Accepted)
        await stage.answer("messageResponse", "build it")
        await stage.until_ask("completion_result")
        [(system, tools)] = heads(stage)
        assert "You write, change and test code." in system and "- Mode: code\n" in system
        assert "architect (Plan and design before anything is built)" in system and "execute_command" in tools
        away, back = reminders(stage)
        assert "- Mode: architect\n" in away and "You explore the code" in away and "Markdown files" in away
        assert "Refused in this mode: execute_command, background_process." in away
        assert "- Mode: code\n" in back and "Refused" not in back and "Permission mode" not in away + back
        [refused] = tool_results(stage)
        assert refused.is_error and "not available in Architect mode" in refused.content

    turns = [
        {"text": "Hi."},
        {"expect": {"user": "Mode: architect"}, "calls": [call("execute_command", command="ls")]},
        {"text": "A plan."},
        {"text": "Built."},
    ]
    play(workspace, turns, story)


def test_a_mode_that_can_do_more_gets_its_own_prompt_and_tools(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("hello")
        await stage.until_ask("completion_result")
        assert isinstance(await stage.submit(SwitchMode(text="code")), Accepted)
        await stage.answer("messageResponse", "build it")
        await stage.until_ask("completion_result")
        (ask, ask_tools), (code, code_tools) = heads(stage)
        assert "- Mode: ask\n" in ask and "- Mode: code\n" in code
        assert "execute_command" in code_tools and "execute_command" not in ask_tools
        [told] = reminders(stage)
        assert "- Mode: code\n" in told and "Refused" not in told

    play(workspace, [{"text": "Hi."}, {"text": "Built."}], story, mode="ask")


def test_a_permission_mode_is_told_when_it_changes_and_only_then(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("hello")
        await stage.until_ask("completion_result")
        for mode in (PermissionMode.PLAN, PermissionMode.PLAN, PermissionMode.DEFAULT, PermissionMode.DEFAULT):
            await stage.submit(SetPermissionMode(permission_mode=mode))
            await stage.answer("messageResponse", "go on")
            await stage.until_ask("completion_result")
        [(system, _)] = heads(stage)
        assert "- Permission mode: default. " in system
        plan, default = reminders(stage)
        assert "- Permission mode: plan. " in plan and "- Permission mode: default. " in default
        assert "Mode: code" not in plan + default

    play(workspace, [{"text": "Hi."}] * 5, story)


def test_a_resumed_task_is_told_what_is_no_longer_as_it_was_told(workspace: Path) -> None:
    """The new prompt says how it is now, but a reminder further down says how it was."""

    async def first(stage: Stage) -> None:
        await stage.start("hello")
        await stage.until_ask("completion_result")
        await stage.submit(SetPermissionMode(permission_mode=PermissionMode.ACCEPT_EDITS))
        await stage.answer("messageResponse", "go on")
        await stage.until_ask("completion_result")

    async def again(stage: Stage) -> None:
        await stage.opened.resume()
        await stage.until_ask("resume_completed_task")
        await stage.answer("messageResponse", "and on")
        await stage.until_ask("completion_result")
        *_, told = reminders(stage)
        assert "- Permission mode: plan. " in told

    play(workspace, [{"text": "Hi."}] * 2, first)
    [session] = [path for path in (workspace / ".robota/sessions").iterdir() if path.is_dir()]
    play(workspace, [{"text": "Hi."}], again, resumes=session, permission_mode="plan")


def test_a_suggestion_with_a_mode_switches_to_it(workspace: Path) -> None:
    """The user saw the mode when choosing the suggestion."""

    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("followup")
        assert '"mode":"architect"' in (ask.text or "")
        await stage.answer("messageResponse", "Plan it")
        await stage.until_ask("completion_result")
        switched = [(event.previous_mode, event.mode) for event in stage.events_of(TaskModeSwitched)]
        assert switched == [("code", "architect")]
        assert "architect mode" in tool_results(stage)[0].content
        assert "You explore the code" in reminders(stage)[-1]

    play(workspace, [{"calls": [QUESTION]}, {"text": "ok"}], story)


def test_words_that_were_not_suggested_switch_nothing(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("followup")
        await stage.answer("messageResponse", "neither")
        await stage.until_ask("completion_result")
        assert not stage.events_of(TaskModeSwitched)

    play(workspace, [{"calls": [QUESTION]}, {"text": "ok"}], story)
