"""Signals and a standard output that goes away: the work stops, the result comes, the exit code tells."""

import asyncio
import contextlib
import io
import os
import signal
from pathlib import Path

import msgspec
import pytest

from robota.clients.headless.client import run_headless
from robota.clients.headless.options import HeadlessOptions, OutputFormat
from robota.clients.headless.output import BinaryOutput
from robota.protocol.commands import CancelTask, NewTask, Refused
from robota.protocol.events import TaskAborted
from tests.clients.headless.headless_run import run_session, run_steps
from tests.clients.scripted_peer import Do, ScriptedSession, Step
from tests.clients.stories import READ, READ_RESULT, TASK, Story, state


def send(number: signal.Signals) -> Do:
    return Do(lambda: os.kill(os.getpid(), number))


SIGNALS = pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])


@SIGNALS
def test_a_signal_cancels_the_task_and_the_result_is_printed(number: signal.Signals, code: int) -> None:
    story = Story()
    story.begin_request()
    ts = story.stream("text", "half an ans", is_open=True)
    story.add(send(number)).until_cancelled().add(TaskAborted(task_id=TASK))
    story.change(ts, type="say", say="text", text="half an ans", partial=False, interrupted=True)
    ran = run_steps(story.ask("resume_task").steps)
    assert ran.code == code
    assert (ran.result["terminal_reason"], ran.result["result"]) == ("aborted_streaming", "half an ans")
    assert ran.result["is_error"] is True
    assert number.name in ran.result["errors"][0]
    assert ran.session.commands == [NewTask(text="the prompt"), CancelTask()]


@pytest.mark.parametrize("output_format", ["text", "json", "stream-json", "messages"])
def test_a_signal_while_a_tool_runs_says_so_in_every_format(output_format: str) -> None:
    story = Story().reply(calls=(READ,)).start(READ).add(send(signal.SIGINT)).until_cancelled()
    story.run(READ, "interrupted").results(READ_RESULT).ask("resume_task")
    ran = run_steps(story.steps, output_format)
    assert ran.code == 130
    if "json" in output_format:
        assert ran.result["terminal_reason"] == "aborted_tools"
    else:
        assert "SIGINT" in ran.stderr


def test_a_second_signal_leaves_at_once_with_what_is_known() -> None:
    story = Story().reply("first part", calls=(READ,)).start(READ)
    story.add(send(signal.SIGINT)).until_cancelled().add(send(signal.SIGTERM))
    ran = run_steps(story.steps, "stream-json")
    assert ran.code == 130
    assert (ran.result["type"], ran.result["result"]) == ("result", "first part")
    assert ran.result["terminal_reason"] == "aborted_tools"


def test_a_task_that_was_done_before_the_signal_took_hold_is_done() -> None:
    story = Story().add(send(signal.SIGINT)).until_cancelled().done()
    assert run_steps(story.steps).code == 0


def test_a_signal_when_there_is_nothing_to_cancel_ends_the_run() -> None:
    refusal = Refused(code="no_task", message="There is no task.")
    ran = run_steps([state(), send(signal.SIGTERM)], receipts={CancelTask: refusal})
    assert (ran.code, ran.result["is_error"]) == (143, True)


def test_an_engine_that_does_not_stop_is_not_waited_for_for_ever() -> None:
    options = HeadlessOptions(output_format=OutputFormat.JSON, cancel_grace_s=0)
    ran = run_session(lambda: ScriptedSession(Story().add(send(signal.SIGTERM)).steps), options)
    assert ran.code == 143


def test_the_signal_handlers_are_given_back_while_the_loop_goes_on() -> None:
    async def main() -> tuple[bool, bool]:
        options = HeadlessOptions()
        await run_headless(ScriptedSession(Story().done().steps), "p", options, io.BytesIO(), io.StringIO())
        loop = asyncio.get_running_loop()
        return loop.remove_signal_handler(signal.SIGINT), loop.remove_signal_handler(signal.SIGTERM)

    assert asyncio.run(main()) == (False, False)


def run_on(out: BinaryOutput, steps: list[Step], output_format: OutputFormat) -> tuple[int, str, ScriptedSession]:
    err = io.StringIO()

    async def main() -> tuple[int, ScriptedSession]:
        session = ScriptedSession(steps)
        options = HeadlessOptions(output_format=output_format)
        return await run_headless(session, "the prompt", options, out, err), session

    code, session = asyncio.run(main())
    return code, err.getvalue(), session


def drop_what_is_buffered(out: BinaryOutput) -> None:
    """Or closing the file would complain once more; the command itself leaves without closing anything."""
    try:
        out.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, out.fileno())
        os.close(nowhere)


def test_a_reader_that_goes_away_stops_the_task_quietly() -> None:
    reader, writer = os.pipe()
    steps = [*Story().steps, Do(lambda: os.close(reader))]
    story = Story().reply("more", calls=(READ,)).start(READ).until_cancelled().run(READ, "interrupted")
    steps.extend(story.results(READ_RESULT).ask("resume_task").steps[2:])
    with os.fdopen(writer, "wb") as out:
        code, stderr, session = run_on(out, steps, OutputFormat.STREAM_JSON)
        drop_what_is_buffered(out)
    assert (code, stderr) == (141, "")
    assert CancelTask() in session.commands


@pytest.mark.parametrize("output_format", list(OutputFormat))
def test_a_reader_that_was_never_there_gives_the_same_code_in_every_format(output_format: OutputFormat) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    story = Story().done() if output_format in {OutputFormat.TEXT, OutputFormat.JSON} else Story().until_cancelled()
    with os.fdopen(writer, "wb") as out:
        code, stderr, _ = run_on(out, story.ask("resume_task").steps, output_format)
        drop_what_is_buffered(out)
    assert (code, stderr) == (141, "")


def test_no_task_is_started_for_a_reader_that_is_gone() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as out:
        _, _, session = run_on(out, Story().done().steps, OutputFormat.STREAM_JSON)
        drop_what_is_buffered(out)
    assert NewTask(text="the prompt") not in session.commands


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_on_stderr() -> None:
    with Path("/dev/full").open("wb") as out:
        code, stderr, _ = run_on(out, Story().done().steps, OutputFormat.JSON)
        drop_what_is_buffered(out)
    assert code == 1
    assert stderr.startswith("robota: Cannot write to standard output: No space left")


def test_a_long_line_gets_whole_through_a_pipe_that_does_not_block() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    answer = "x" * 1_000_000
    received = asyncio.run(read_while_running(reader, writer, answer))
    assert msgspec.json.decode(received)["result"] == answer


async def read_while_running(reader: int, writer: int, answer: str) -> bytes:
    """Everything that comes out. The writer is closed in any case, so that a failure ends the reading too."""
    with os.fdopen(reader, "rb") as readable:
        reading = asyncio.get_running_loop().run_in_executor(None, readable.read)
        options = HeadlessOptions(output_format=OutputFormat.JSON)
        with contextlib.suppress(BlockingIOError), os.fdopen(writer, "wb") as out:
            await run_headless(ScriptedSession(Story().done(answer).steps), "p", options, out, io.StringIO())
        return await reading
