"""Ctrl+C, words and pastes in every state of a conversation, at a real terminal and with a real engine.

What was typed is what is sent, what is answered is shown, Ctrl+C stops what runs, nothing is accepted without effect.
"""

import json
from typing import Any

import pytest

from tests.cli.scripts import call, script, sessions
from tests.harness.cli import Robota
from tests.harness.session_log import log_records, log_text
from tests.harness.terminal import Terminal

LONG_MS = 3_600_000
WAIT = "until test -e go; do sleep 0.05; done"
DONE = {"text": "All done."}
LEAVES = "(press Ctrl+C again or Ctrl+D to exit)"
AUTH = {"fault": {"kind": "authentication_failed"}}


def user_texts(robota: Robota) -> list[str]:
    """All texts of the user that were sent to the model, in order, in all tasks."""
    records = log_records(sessions(robota)[0])
    turns = [record["payload"]["turn"] for record in records if record["kind"] == "turn"]
    blocks = [block for turn in turns if turn["role"] == "user" for block in turn["content"] if block["type"] == "text"]
    return [block["text"] for block in blocks if not block["text"].startswith(("<", "["))]


def bash(command: str) -> dict[str, Any]:
    return {"calls": [call("execute_command", command=command)]}


def reach(terminal: Terminal, robota: Robota, sign: str) -> None:
    """Wait until a state shows; that the model is waited for shows only in the log."""
    if sign:
        terminal.wait_for(sign)
    else:
        logs = robota.workspace / ".robota" / "sessions"
        terminal.wait_until(lambda: any("api_req_started" in log_text(log.parent) for log in logs.glob("*/log.jsonl")))


def slow_stop_hook(robota: Robota) -> None:
    """Something that runs between the end of an answer and the question what next, until the file `go` is there."""
    settings = robota.home / ".robota" / "settings.json"
    hook = {"hooks": [{"type": "command", "command": f"touch ended; {WAIT}", "timeout": 600}]}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "hooks": {"Stop": [hook]}}))


STATES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "thinking": ([{"text": "late", "delayMs": LONG_MS}], ""),
    "streaming": (
        [{"text": "first words and more of them", "chunkSize": 11, "chunkDelayMs": LONG_MS}],
        "first words",
    ),
    "a command runs": ([bash("sleep 1000")], "Bash sleep 1000"),
    "an approval is open": ([{"calls": [call("write_to_file", path="new.txt", content="x\n")]}], "y yes   n no"),
    "a question is open": (
        [{"calls": [call("ask_followup_question", question="Which one?", follow_up=[{"text": "this"}])]}],
        "1 this",
    ),
    "a retry waits": ([{"fault": {"kind": "rate_limit", "retryAfter": 50}}], "Retrying"),
}


@pytest.mark.parametrize("state", STATES)
def test_ctrl_c_stops_what_runs_and_words_go_on(robota: Robota, state: str) -> None:
    """The first Ctrl+C stops the task, and what the user types next is sent to the model."""
    turns, sign = STATES[state]
    script(robota, *turns, DONE, retry={"baseMs": 1, "maxRetries": 3})
    allowed = ["--allowed-tools", "Bash"] if state == "a command runs" else []
    with Terminal(robota, *allowed, "go") as terminal:
        reach(terminal, robota, sign)
        terminal.press("\x03")
        terminal.wait_for("Interrupted. Press Enter to continue")
        terminal.answer("> ", "do something else")
        terminal.wait_for("All done.")
        terminal.wait_for("> ")
        assert LEAVES not in terminal.screen
        terminal.press("\x04")
        assert terminal.end() == 0
    assert user_texts(robota) == ["go", "do something else"]
    assert not (robota.workspace / "new.txt").exists()


@pytest.mark.parametrize("state", ["thinking", "streaming", "a command runs", "a retry waits"])
def test_words_typed_while_something_runs_are_queued_and_sent(robota: Robota, state: str) -> None:
    """They are shown as queued, survive a Ctrl+C, and go along with what is said next."""
    turns, sign = STATES[state]
    script(robota, *turns, DONE, retry={"baseMs": 1, "maxRetries": 3})
    with Terminal(robota, "--allowed-tools", "Bash", "go") as terminal:
        reach(terminal, robota, sign)
        terminal.press("one more thing\r")
        terminal.wait_for("(queued for the agent: one more thing)")
        terminal.press("\x03")
        terminal.wait_for("Interrupted. Press Enter to continue")
        terminal.answer("> ", "go on now")
        terminal.wait_for("All done.")
    assert sorted(user_texts(robota)) == ["go", "go on now", "one more thing"]


@pytest.mark.parametrize("state", ["an approval is open", "a question is open"])
def test_words_at_a_question_are_its_answer(robota: Robota, state: str) -> None:
    """A paste of several lines is one answer."""
    turns, sign = STATES[state]
    script(robota, *turns, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for(sign)
        terminal.wait_for("\n> ")
        terminal.press("\x1b[200~neither:\rlook\rfirst\x1b[201~\r")
        terminal.wait_for("All done.")
    log = log_text(sessions(robota)[0])
    assert json.dumps("neither:\nlook\nfirst")[1:-1] in log
    assert not (robota.workspace / "new.txt").exists()


def test_a_queued_prompt_at_the_end_of_an_answer_starts_work_that_ctrl_c_stops(robota: Robota) -> None:
    """Ctrl+C stops that work; it neither leaves Robota nor loses what is queued."""
    lines = {"text": "line one\nline two\nline three\n", "chunkSize": 4, **bash("sleep 60")}
    script(robota, {"text": "First."}, lines, DONE)
    slow_stop_hook(robota)
    with Terminal(robota, "--allowed-tools", "Bash", "go") as terminal:
        terminal.wait_for("First.")
        terminal.wait_until((robota.workspace / "ended").exists)
        terminal.press("now this\r")
        terminal.wait_for("(queued for the agent: now this)")
        terminal.press("and that\r")
        terminal.wait_for("(queued for the agent: and that)")
        (robota.workspace / "go").touch()
        answered = terminal.wait_for("line three\n")
        assert "line one\nline two\nline three\n" in answered and "> line" not in answered
        terminal.wait_for("Bash sleep 60")
        terminal.press("half typed")
        terminal.wait_for("half typed")
        terminal.press("\x03")
        terminal.wait_for("Interrupted. Press Enter to continue")
        assert LEAVES not in terminal.screen
        terminal.answer("> ", "stop that")
        terminal.wait_for("All done.")
    assert user_texts(robota) == ["go", "now this", "and that", "stop that"]


def test_words_that_answer_a_failure_go_to_the_model(robota: Robota) -> None:
    """They are sent, and the prompt is shown again afterwards."""
    script(robota, AUTH, DONE, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("Press Enter to retry")
        terminal.answer("> ", "and be brief")
        terminal.wait_for("All done.")
        terminal.answer("> ", "thanks")
        terminal.wait_for("All done.")
    assert user_texts(robota) == ["go", "and be brief", "thanks"]


def test_text_typed_right_after_a_no_starts_the_next_task(robota: Robota) -> None:
    """However quickly they follow: nothing waits for an answer in that moment."""
    script(robota, AUTH, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("Press Enter to retry")
        terminal.wait_for("> ")
        terminal.press("n\r")
        terminal.press("and now\r")
        terminal.wait_for("All done.")
        assert terminal.hang_up() == 0
    assert user_texts(robota)[-1] in ("and now", "n\nand now")  # as one paste, if they came as fast as one


def test_words_queued_for_a_task_that_was_given_up_are_not_lost(robota: Robota) -> None:
    """They are in the input again, to be sent or deleted."""
    turns, sign = STATES["a retry waits"]
    script(robota, *turns, AUTH, DONE, retry={"baseMs": 1, "maxRetries": 3})
    with Terminal(robota, "go") as terminal:
        terminal.wait_for(sign)
        terminal.press("also this\r")
        terminal.wait_for("(queued for the agent: also this)")
        terminal.press("/retry\r")
        terminal.wait_for("Press Enter to retry")
        terminal.answer("> ", "n")
        terminal.wait_for("> also this")
        terminal.press(" please\r")
        terminal.wait_for("All done.")
    assert user_texts(robota) == ["go", "also this please"]


def test_ctrl_c_at_a_failure_stops_the_turn_and_then_says_how_to_leave(robota: Robota) -> None:
    script(robota, AUTH, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("Press Enter to retry")
        terminal.wait_for("> ")
        terminal.press("\x03")
        terminal.wait_for("Interrupted.")
        terminal.answer("> ", "")
        terminal.wait_for("All done.")
        terminal.wait_for("> ")
        terminal.press("\x03")
        terminal.wait_for(LEAVES)
        terminal.answer("> ", "")
        terminal.press("\x04")
        assert terminal.end() == 0


def test_ctrl_c_stops_the_shortening_of_a_conversation(robota: Robota) -> None:
    script(robota, {"text": "First."}, {"text": "Second."}, {"text": "late", "delayMs": LONG_MS}, DONE)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("First.")
        terminal.answer("> ", "more")
        terminal.wait_for("Second.")
        terminal.answer("> ", "/compact")
        terminal.wait_for("(condensing the conversation)")
        terminal.press("\x03")
        terminal.wait_for("> ")
        assert LEAVES not in terminal.screen
        terminal.press("explain that\r")
        terminal.wait_for("All done.")
    assert user_texts(robota) == ["go", "more", "explain that"]


def test_ctrl_c_while_servers_start_stops_the_start_and_the_sign_comes(robota: Robota) -> None:
    """A server that never answers."""
    script(robota, DONE)
    server = {"mcpServers": {"slow": {"command": "sh", "args": ["-c", "touch started; exec sleep 1000"]}}}
    settings = robota.home / ".robota" / "settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **server}))
    with Terminal(robota, "go") as terminal:
        terminal.wait_until((robota.workspace / "started").exists)
        terminal.press("typed early\r")
        terminal.wait_for("typed early")
        terminal.press("\x03")
        terminal.wait_for("Stopped before the task started. Nothing was sent to the model.")
        terminal.wait_for("> ")
        terminal.press("\x04")
        assert terminal.end() == 0
