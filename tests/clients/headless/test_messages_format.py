"""`messages`: the ask/say messages themselves."""

from robota.protocol.codec import decode_messages
from robota.protocol.message import Message
from robota.protocol.state import StateTracker
from tests.clients.headless.headless_run import Ran, run_steps
from tests.clients.stories import READ, READ_RESULT, Story


def rows(ran: Ran) -> list[Message]:
    return list(decode_messages("[" + ",".join(ran.stdout.splitlines()) + "]"))


def kinds(ran: Ran) -> list[str | None]:
    return [row.ask or row.say for row in rows(ran)]


def test_each_message_is_a_line_once_it_is_complete() -> None:
    ran = run_steps(Story().reply("Hel", "lo", thought="hm").ask("completion_result").steps, "messages")
    assert ran.code == 0
    assert kinds(ran) == ["text", "reasoning", "text", "api_req_started", "completion_result"]
    assert [row.text for row in rows(ran)] == ["the prompt", "hm", "Hello", '{"cost":0.25}', ""]
    assert all(row.partial is not True for row in rows(ran))


def test_with_partials_a_reader_sees_what_we_see() -> None:
    story = Story().reply("Hel", "lo", thought="hm", calls=(READ,)).results(READ_RESULT).done()
    ran = run_steps(story.steps, "messages", partials=True)
    seen = StateTracker()
    for row in rows(ran):
        seen.updated(row)
    assert seen.info.current_ask == "completion_result"
    assert [row.text for row in rows(ran) if row.ts == 4] == ["", "Hel", "Hello", "Hello"]
    assert [row.partial for row in rows(ran) if row.ts == 4] == [True, True, True, False]


def test_partials_of_a_long_answer_stay_proportional_to_it() -> None:
    pieces = ["word "] * 5000
    ran = run_steps(Story().done("".join(pieces)).steps[:-1], "messages", closes=True)
    whole = len(ran.stdout)
    streamed = run_steps(Story().reply(*pieces).ask("completion_result").steps, "messages", partials=True)
    assert len(streamed.stdout) < 40 * whole


def test_fields_of_a_newer_engine_pass_through() -> None:
    story = Story()
    story.row(type="say", say="text", text="x", extra={"shade": "blue"})
    ran = run_steps(story.ask("resume_task").steps, "messages")
    assert ran.lines[1]["shade"] == "blue"
    assert "~extra" not in ran.stdout


def test_the_exit_code_is_right_and_stderr_says_why() -> None:
    ran = run_steps(Story().ask("followup", '{"question":"Which?"}').steps, "messages")
    assert ran.code == 10
    assert "The agent asks: Which?" in ran.stderr
