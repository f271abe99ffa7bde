"""How a run ends: every exit code, and what the result says with it."""

import asyncio
import io

import pytest

from robota.clients.headless import exit_codes
from robota.clients.headless.client import run_headless
from robota.clients.headless.options import HeadlessOptions
from robota.clients.headless.outcome import ERROR
from robota.protocol.asks.answer import Reject
from robota.protocol.asks.ask import Fault, MistakeKind, MistakesAsk
from robota.protocol.commands import AskResponse, NewTask, Refused
from robota.protocol.events import MessageUpdated, TaskAborted
from robota.protocol.message import Message
from tests.clients.headless.headless_run import run_steps
from tests.clients.scripted_peer import ScriptedSession
from tests.clients.stories import READ, READ_RESULT, TASK, Story


def failed(kind: str, *, retryable: bool, status: int | None = None) -> Story:
    fault = Fault(kind=kind, message="The provider said no.", retryable=retryable, status=status)
    return Story().ask("api_req_failed", "The provider said no.", fault)


REPEATED = MistakesAsk(message="The same call.", mistake=MistakeKind.REPEATED_CALL)


def explicit_completion() -> Story:
    return (
        Story().reply("I am finished.", calls=(READ,)).say("completion_result", "the result").ask("completion_result")
    )


def test_an_answer_is_success() -> None:
    ran = run_steps(Story().done("the answer").steps)
    assert ran.code == exit_codes.DONE == 0
    assert (ran.result["subtype"], ran.result["is_error"]) == ("success", False)
    assert (ran.result["result"], ran.result["terminal_reason"]) == ("the answer", "completed")
    assert "errors" not in ran.result
    assert ran.session.commands == [NewTask(text="the prompt")]


def test_an_explicit_completion_gives_its_result_and_not_the_words_before_it() -> None:
    ran = run_steps(explicit_completion().steps)
    assert (ran.code, ran.result["result"]) == (0, "the result")


@pytest.mark.parametrize(
    ("story", "code", "subtype", "reason"),
    [
        (failed("rate_limit", retryable=True, status=429), 75, ERROR, "api_error"),
        (failed("authentication_failed", retryable=False, status=401), 4, ERROR, "api_error"),
        (failed("context_too_long", retryable=False), 4, ERROR, "prompt_too_long"),
        (Story().ask("api_req_failed"), 4, ERROR, "api_error"),
        (
            Story().reply("half").ask("mistake_limit_reached", "Three mistakes."),
            1,
            ERROR,
            "malformed_tool_use_exhausted",
        ),
        (Story().ask("mistake_limit_reached", asked=REPEATED), 1, ERROR, "repeated_tool_use"),
        (Story().reply("half").ask("auto_approval_max_req_reached"), 53, "error_max_turns", "max_turns"),
        (Story().reply("half").ask("followup", '{"question":"Which one?"}'), 10, ERROR, "needs_input"),
        (Story().reply("half").ask("resume_task"), 1, ERROR, "aborted_streaming"),
        (Story().reply("half").ask("resume_completed_task"), 1, ERROR, "internal_error"),
        (Story().reply("half").add(TaskAborted(task_id=TASK)), 1, ERROR, "internal_error"),
    ],
)
def test_each_other_end_has_its_code_and_reason(story: Story, code: int, subtype: str, reason: str) -> None:
    ran = run_steps(story.steps)
    assert ran.code == code
    assert (ran.result["subtype"], ran.result["terminal_reason"]) == (subtype, reason)
    assert ran.result["is_error"] is True
    assert isinstance(ran.result["result"], str)
    assert ran.result["errors"][0]


def test_a_provider_error_carries_its_status_and_the_words_for_a_user() -> None:
    ran = run_steps(failed("rate_limit", retryable=True, status=429).steps)
    assert ran.result["api_error_status"] == 429
    assert ran.result["errors"] == ["The provider said no."]


def test_a_question_is_given_as_the_result() -> None:
    ran = run_steps(Story().ask("followup", '{"question":"Which one?","suggest":[]}').steps)
    assert (ran.code, ran.result["result"]) == (10, "Which one?")


def test_an_error_keeps_the_partial_text_but_never_the_prompt() -> None:
    with_text = run_steps(Story().reply("half an answer").ask("auto_approval_max_req_reached").steps)
    assert with_text.result["result"] == "half an answer"
    without = run_steps(Story(prompt="secret prompt").ask("auto_approval_max_req_reached").steps)
    assert without.result["result"] == ""


def test_completion_without_an_answer_is_not_success() -> None:
    story = Story().reply("Let me look.", calls=(READ,)).run(READ).results(READ_RESULT)
    request = story.begin_request()
    ran = run_steps(story.end_request(request, "").ask("completion_result").steps)
    assert ran.code == exit_codes.TASK_FAILED
    assert ran.result["result"] == "Let me look."


def test_completion_after_a_cut_answer_is_not_success() -> None:
    story = Story()
    request = story.begin_request()
    story.stream("text", "The answer is", interrupted=True)
    ran = run_steps(story.end_request(request, "The answer is").ask("completion_result").steps)
    assert (ran.code, ran.result["result"]) == (exit_codes.TASK_FAILED, "The answer is")


def test_a_session_that_closes_without_an_end_is_a_failure() -> None:
    ran = run_steps(Story().reply("half").steps, closes=True)
    assert (ran.code, ran.result["terminal_reason"]) == (1, "internal_error")


def test_a_session_that_closes_at_once_is_a_failure() -> None:
    ran = run_steps([], closes=True)
    assert (ran.code, ran.result["is_error"]) == (1, True)


def test_a_refused_prompt_is_a_failure_with_the_reason() -> None:
    refusal = Refused(code="busy", message="Another task is running.")
    ran = run_steps(Story().steps, receipts={NewTask: refusal})
    assert (ran.code, ran.result["terminal_reason"]) == (1, "turn_setup_failed")
    assert ran.result["errors"] == ["Another task is running."]


def test_the_old_end_of_a_continued_session_is_not_taken_for_ours() -> None:
    answer = Message(ts=1, type="say", say="text", text="old answer")
    old = Message(ts=2, type="ask", ask="completion_result")
    story = Story(before=(answer, old), first_ts=3)
    answered = MessageUpdated(task_id=TASK, message=Message(ts=2, type="ask", ask="completion_result", text=""))
    story.steps.insert(2, answered)
    assert run_steps(story.done("new answer").steps).result["result"] == "new answer"

    broken_off = run_steps(story.steps[:3], closes=True)
    assert (broken_off.code, broken_off.result["result"]) == (1, "")


@pytest.mark.parametrize("kind", ["tool", "command", "use_mcp_server", "browser_action_launch", "ask_of_tomorrow"])
def test_an_ask_for_permission_is_answered_with_no(kind: str) -> None:
    story = Story().ask(kind, "{}")
    ran = run_steps(story.done().steps)
    assert ran.code == 0
    assert AskResponse(answer=Reject(), ts=2) in ran.session.commands


def test_running_output_and_partial_asks_are_not_answered() -> None:
    story = Story().ask("command_output", "building")
    story.row(type="ask", ask="tool", text="{}", partial=True)
    ran = run_steps(story.done().steps)
    assert (ran.code, ran.session.commands) == (0, [NewTask(text="the prompt")])


def test_the_subscription_is_given_back_while_the_loop_goes_on() -> None:
    async def main() -> bool:
        session = ScriptedSession(Story().done().steps)
        await run_headless(session, "p", HeadlessOptions(), io.BytesIO(), io.StringIO())
        return session.closed_by_reader

    assert asyncio.run(main())
