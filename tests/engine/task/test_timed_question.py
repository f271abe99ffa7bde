"""A question of the model takes its first suggestion after the time that the user has set, and never otherwise."""

from pathlib import Path

from robota.protocol.asks.ask import QuestionAsk
from robota.protocol.events import Notice
from tests.engine.stage import Stage, call, play, tool_results

QUESTION = call(
    "ask_followup_question",
    question="Which colour?",
    follow_up=[{"text": "teal", "mode": "architect"}, {"text": "red"}],
)
TURNS = [{"calls": [QUESTION]}, {"text": "Painted."}]


def test_after_the_time_the_first_suggestion_is_taken_and_everybody_is_told(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("paint")
        await stage.until_ask("followup")
        await stage.until_ask("completion_result")
        [result] = tool_results(stage)
        assert "did not answer in time" in str(result.content) and "teal" in str(result.content)
        assert any("Nobody answered" in each.text and "teal" in each.text for each in stage.events_of(Notice))
        assert stage.says("user_feedback") == [], "nobody said it"
        assert stage.opened.session.state().mode == "code", "a mode is switched by users only"

    play(workspace, TURNS, story, settings={"questionTimeoutSeconds": 0.01})


def test_an_answer_in_time_is_the_users(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("paint")
        asked = (await stage.until_ask("followup")).asked
        assert isinstance(asked, QuestionAsk) and asked.default_after_s == 3600
        await stage.answer("messageResponse", "red")
        await stage.until_ask("completion_result")
        [result] = tool_results(stage)
        assert "red" in str(result.content) and stage.says("user_feedback") == ["red"]

    play(workspace, TURNS, story, settings={"questionTimeoutSeconds": 3600})


def test_without_the_setting_a_question_waits(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("paint")
        asked = (await stage.until_ask("followup")).asked
        assert isinstance(asked, QuestionAsk) and asked.default_after_s is None

    play(workspace, TURNS, story)
