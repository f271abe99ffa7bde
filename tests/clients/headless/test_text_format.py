"""`text`: the answer alone on standard output, everything else on standard error."""

import asyncio
import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.clients.headless.client import run_headless
from robota.clients.headless.options import HeadlessOptions
from robota.protocol.events import Notice, RetryScheduled
from robota.protocol.views import DiffHunk, DiffLine, DiffView, TerminalView, View
from tests.clients.headless.headless_run import run_steps
from tests.clients.scripted_peer import ScriptedSession
from tests.clients.stories import READ, READ_RESULT, TASK, Story

DIFF = DiffView(
    path="a",
    added=1,
    removed=1,
    hunks=(
        DiffHunk(
            old_start=1,
            old_count=2,
            new_start=1,
            new_count=2,
            lines=(
                DiffLine(kind="context", text="same"),
                DiffLine(kind="remove", text="old"),
                DiffLine(kind="add", text="new\x1b]0;title\x07"),
            ),
        ),
    ),
)
TERMINAL = TerminalView(command="make", output="\n".join(str(line) for line in range(14)), exit_code=2)


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class BinaryTerminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def with_tool(status: str = "success", reason: str | None = None, view: View | None = None) -> Story:
    return Story().reply("Reading.", calls=(READ,)).run(READ, status, reason, view).results(READ_RESULT)


@pytest.mark.parametrize("answer", ["the answer", "the answer\n"])
def test_only_the_final_answer_is_on_stdout_and_ends_with_one_newline(answer: str) -> None:
    ran = run_steps(with_tool().done(answer).steps, "text")
    assert (ran.code, ran.stdout, ran.stderr) == (0, "the answer\n", "")


def test_a_failed_run_prints_no_answer_and_says_why_on_stderr() -> None:
    ran = run_steps(Story().reply("half").ask("auto_approval_max_req_reached").steps, "text")
    assert (ran.code, ran.stdout) == (53, "")
    assert ran.stderr.startswith("robota: The turn limit is reached.")


def test_what_was_not_allowed_is_listed_without_being_asked_for() -> None:
    ran = run_steps(with_tool("denied", "needs approval").done().steps, "text")
    assert (ran.code, ran.stderr) == (0, "robota: not allowed: Read a: needs approval\n")


def test_a_warning_is_shown_and_a_mere_note_is_not() -> None:
    story = Story().add(Notice(level="info", text="fine"), Notice(level="warning", text="The log was repaired."))
    assert run_steps(story.done().steps, "text").stderr == "robota: The log was repaired.\n"


def test_verbose_shows_calls_diffs_output_and_retries_on_stderr_only() -> None:
    story = with_tool(view=DIFF).reply(calls=(READ,)).run(READ, "error", "it broke", TERMINAL)
    story.add(RetryScheduled(task_id=TASK, attempt=1, max_retries=5, delay_ms=1500, error="rate_limit"))
    ran = run_steps(story.done().steps, "text", verbose=True)
    assert ran.stdout == "the answer\n"
    assert [line for line in ran.stderr.splitlines() if line] == [
        "Reading.",
        "* Read a",
        "    a +1 -1",
        "      same",
        "    - old",
        "    + new]0;title",
        "* Read a",
        "    error: it broke",
        "    (4 lines before)",
        *(f"    | {line}" for line in range(4, 14)),
        "    exit code 2",
        "! The model server limits the request rate. Retrying in 1.5 s (1 of 5).",
    ]


def test_a_terminal_gets_colour_but_no_control_sequence_that_a_model_wrote() -> None:
    out, err = BinaryTerminal(), Terminal()
    steps = with_tool(view=DIFF).done("\x1b[2Jthe\tanswer\x9b").steps

    async def main() -> int:
        return await run_headless(ScriptedSession(steps), "p", HeadlessOptions(verbose=True), out, err)

    assert asyncio.run(main()) == 0
    assert out.getvalue() == b"[2Jthe\tanswer\n"
    assert "\x1b[32m    + new]0;title\x1b[0m" in err.getvalue()


def test_a_pipe_gets_the_answer_byte_for_byte() -> None:
    assert run_steps(Story().done("\x1b[1mbold\x1b[0m").steps, "text").stdout == "\x1b[1mbold\x1b[0m\n"


@given(st.text(st.characters(exclude_categories=())).filter(str.strip))
def test_stdout_is_utf8_whatever_the_model_wrote(answer: str) -> None:
    ran = run_steps(Story().done(answer).steps, "text")
    assert ran.code == 0
    if answer.isascii():
        assert ran.stdout == (answer if answer.endswith("\n") else answer + "\n")


def test_a_pair_of_surrogates_is_joined_and_a_lone_one_is_replaced() -> None:
    assert run_steps(Story().done("\ud83d\ude00 \ud83d").steps, "text").stdout == "\U0001f600 \ufffd\n"


def test_a_stderr_that_cannot_write_the_characters_loses_nothing_else() -> None:
    raw = io.BytesIO()
    err = io.TextIOWrapper(raw, encoding="ascii")
    steps = with_tool("denied", "nicht erlaubt: \u00e4").done().steps

    async def main() -> int:
        return await run_headless(ScriptedSession(steps), "p", HeadlessOptions(), io.BytesIO(), err)

    assert asyncio.run(main()) == 0
    assert raw.getvalue() == b"robota: not allowed: Read a: nicht erlaubt: \\xe4\n"


def test_a_stderr_that_nobody_reads_does_not_stop_the_run() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    steps = with_tool("denied", "needs approval").done().steps
    out = io.BytesIO()

    async def main() -> int:
        with os.fdopen(writer, "wb", buffering=0) as raw:
            err = io.TextIOWrapper(raw, write_through=True)
            return await run_headless(ScriptedSession(steps), "p", HeadlessOptions(verbose=True), out, err)

    assert asyncio.run(main()) == 0
    assert out.getvalue() == b"the answer\n"
