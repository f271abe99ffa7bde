"""A task in another mode: the model is told of its role, its tools and the modes there are."""

from pathlib import Path

from robota.log.chain.reader import load
from robota.log.replay.requests import recorded_requests
from robota.protocol.commands import Accepted, SwitchMode
from robota.protocol.events import TaskModeSwitched
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


def test_a_person_switches_the_mode_and_the_model_gets_role_and_tools_of_it(workspace: Path) -> None:
    """With `/mode architect`."""

    async def story(stage: Stage) -> None:
        await stage.start("hello")
        await stage.until_ask("completion_result")
        assert isinstance(await stage.submit(SwitchMode(text="architect")), Accepted)
        await stage.answer("messageResponse", "plan it")
        await stage.until_ask("completion_result")
        (code, code_tools), (architect, architect_tools) = heads(stage)
        assert "software engineer" in code and "You are in the mode code" in code
        assert "technical lead" in architect and "You are in the mode architect" in architect
        assert "execute_command" in code_tools and "execute_command" not in architect_tools
        assert "To plan and design" in code and "- debug: " in code

    turns = [{"text": "Hi."}, {"expect": {"user": "switched the task to architect mode"}, "text": "A plan."}]
    play(workspace, turns, story)


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
        assert "technical lead" in heads(stage)[-1][0]

    play(workspace, [{"calls": [QUESTION]}, {"text": "ok"}], story)


def test_words_that_were_not_suggested_switch_nothing(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("followup")
        await stage.answer("messageResponse", "neither")
        await stage.until_ask("completion_result")
        assert not stage.events_of(TaskModeSwitched)

    play(workspace, [{"calls": [QUESTION]}, {"text": "ok"}], story)
