"""Print mode prints the whole answer, and follows the task of its own prompt."""

import asyncio
import io
import json
from pathlib import Path
from typing import Any

from robota.clients.headless.client import run_headless
from robota.clients.headless.options import HeadlessOptions, OutputFormat
from robota.protocol.events import TaskAborted, TaskEnded
from tests.clients.headless.headless_run import run_steps
from tests.clients.stories import Story
from tests.engine.stage import Stage, call, play


def text_thought_text() -> Story:
    story = Story()
    request = story.begin_request()
    story.stream("text", "First ", "this.")
    story.stream("reasoning", "hm")
    story.stream("text", "Then that.")
    return story.end_request(request, "First this.Then that.").ask("completion_result")


def test_an_answer_with_thoughts_in_between_is_printed_as_a_whole() -> None:
    assert run_steps(text_thought_text().steps, "text").stdout == "First this.\n\nThen that.\n"
    assert run_steps(text_thought_text().steps).result["result"] == "First this.\n\nThen that."


def test_an_unfinished_answer_is_reported_as_a_whole_too() -> None:
    story = text_thought_text()
    story.steps.pop()
    ran = run_steps(story.ask("mistake_limit_reached", "Three mistakes.").steps)
    assert ran.result["result"] == "First this.\n\nThen that."


def test_words_before_the_calls_of_an_earlier_request_are_not_part_of_the_answer() -> None:
    assert run_steps(Story().reply("I look.").reply("Done.").ask("completion_result").steps).result["result"] == "Done."


def test_the_end_of_another_task_does_not_end_the_run() -> None:
    story = Story()
    story.steps[1:1] = [TaskAborted(task_id="earlier"), TaskEnded(task_id="earlier", outcome="completed")]
    story.add(TaskAborted(task_id="subtask"))
    ran = run_steps(story.done("the answer").steps)
    assert (ran.code, ran.result["result"]) == (0, "the answer")


def test_a_second_prompt_in_the_same_session_has_its_own_answer_and_its_own_usage(workspace: Path) -> None:
    async def run(stage: Stage, prompt: str) -> dict[str, Any]:
        out, err = io.BytesIO(), io.StringIO()
        options = HeadlessOptions(output_format=OutputFormat.JSON)
        async with asyncio.timeout(60):
            code = await run_headless(stage.session, prompt, options, out, err)
        return {**json.loads(out.getvalue()), "code": code}

    async def story(stage: Stage) -> None:
        first, second = await run(stage, "one"), await run(stage, "two")
        assert (first["code"], first["result"], first["usage"]["input_tokens"]) == (0, "First.", 100)
        assert (second["code"], second["result"], second["usage"]["input_tokens"]) == (0, "Second.", 7)

    turns = [{"text": "First.", "usage": {"input": 100}}, {"text": "Second.", "usage": {"input": 7}}]
    play(workspace, turns, story, attended=False)


def test_what_a_subtask_used_is_part_of_the_usage(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        out, err = io.BytesIO(), io.StringIO()
        options = HeadlessOptions(output_format=OutputFormat.JSON)
        assert await run_headless(stage.session, "go", options, out, err) == 0
        assert json.loads(out.getvalue())["usage"]["input_tokens"] == 111

    turns = [
        {"calls": [call("new_task", mode="code", message="sub")], "usage": {"input": 100}},
        {"calls": [call("attempt_completion", result="found")], "usage": {"input": 10}},
        {"text": "Done.", "usage": {"input": 1}},
    ]
    play(workspace, turns, story, attended=False)
