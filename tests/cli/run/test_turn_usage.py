"""The usage row below each turn: in both interfaces, of this turn alone, also if a turn was stopped or resumed."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tests.cli.scripts import call, script, write_settings
from tests.fakellm.server import running
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal
from tests.harness.terminal import Terminal

FIRST = {"input": 1000, "output": 50, "cost": 0.25}
SECOND = {"input": 2000, "output": 10, "cost": 0.5}
RUNS = {"calls": [call("execute_command", command="touch begun; sleep 1000")], "usage": FIRST}
STOPPED_ROW = "1,000 tokens in, 50 out (counted until it was stopped), $0.2500"
SECOND_ROW = "2,000 tokens in, 10 out, $0.5000; 3,060 so far"
BYPASS = ("--permission-mode", "bypassPermissions")


def test_the_usage_of_a_stopped_turn_is_shown_with_that_turn(robota: Robota) -> None:
    script(robota, RUNS, {"text": "All done.", "usage": SECOND})
    with Terminal(robota, *BYPASS, "go") as terminal:
        terminal.wait_until((robota.workspace / "begun").exists)
        terminal.press("\x03")
        terminal.wait_for(STOPPED_ROW)
        terminal.wait_for("Interrupted.")
        terminal.answer("> ", "something else")
        terminal.wait_for("All done.")
        terminal.wait_for(SECOND_ROW)
        terminal.press("\x04")
        assert terminal.end() == 0


def test_the_usage_of_a_stopped_turn_is_shown_with_that_turn_on_the_screen(robota: Robota) -> None:
    script(robota, RUNS, {"text": "All done.", "usage": SECOND})
    with ScreenTerminal(robota, *BYPASS, columns=120) as terminal:
        terminal.sees("Idle")
        terminal.press("go\r")
        terminal.wait_until((robota.workspace / "begun").exists)
        terminal.press("\x1b")
        assert STOPPED_ROW in "\n".join(terminal.sees("Interrupted."))
        terminal.press("something else\r")
        terminal.sees(SECOND_ROW)


@contextmanager
def stalling_model(robota: Robota) -> Iterator[None]:
    """A server that counts the input first, stops in the middle of its first reply, and answers the second request."""
    with tempfile.TemporaryDirectory() as directory:
        turns = Path(directory, "script.json")
        turns.write_bytes(msgspec.json.encode([{"fault": "stall"}, {"text": "All done."}]))
        with running(f"script:{turns}") as server:
            profile = {"type": "anthropic", "baseURL": server.url, "model": "claude-sonnet-4-5", "apiKey": "none"}
            write_settings(robota, {"currentProvider": "fake", "providers": {"fake": profile}})
            yield


def test_what_was_counted_of_a_stopped_reply_belongs_to_its_turn(robota: Robota) -> None:
    with stalling_model(robota), Terminal(robota, "go") as terminal:
        terminal.wait_for("This is cu")
        terminal.press("\x03")
        terminal.wait_for("counted until it was stopped")
        terminal.answer("> ", "go on")
        terminal.wait_for("All done.")
        terminal.wait_for("so far")
        terminal.press("\x04")
        assert terminal.end() == 0
    rows = re.findall(r"([\d,]+) tokens in, ([\d,]+) out(?: \((.*?)\))?", terminal.screen)
    counts = [[int(number.replace(",", "")) for number in row[:2]] for row in rows]
    assert [row[2] for row in rows] == ["counted until it was stopped", ""]
    assert all(count[0] > 0 for count in counts)
    [so_far] = re.findall(r"([\d,]+) so far", terminal.screen)
    assert int(so_far.replace(",", "")) == sum(map(sum, counts))


def test_after_a_resume_the_first_row_counts_only_the_new_turn(robota: Robota) -> None:
    script(robota, {"text": "One.", "usage": FIRST}, {"text": "Two.", "usage": SECOND})
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("1,000 tokens in, 50 out, $0.2500")
        terminal.press("\x04")
        assert terminal.end() == 0
    script(robota, {"text": "Two.", "usage": SECOND})
    with Terminal(robota, "--continue") as terminal:
        terminal.answer("> ", "and now")
        terminal.wait_for(SECOND_ROW)
        assert terminal.screen.count("tokens in") == 1
        terminal.press("\x04")
        assert terminal.end() == 0


@pytest.mark.parametrize("is_plain", [True, False])
def test_without_counts_the_row_has_an_estimate_and_says_so(robota: Robota, is_plain: bool) -> None:
    script(robota, {"text": "All done."})
    kind = Terminal if is_plain else ScreenTerminal
    with kind(robota, "go") as terminal:
        terminal.wait_until(
            lambda: re.search(r"about \d,\d+ tokens in, 2 out \(estimated\)", terminal.screen) is not None
        )


def test_the_context_of_a_resumed_session_without_counts_is_estimated_at_once(robota: Robota) -> None:
    (robota.workspace / "long.txt").write_text("many words\n" * 9_000)
    (robota.workspace / "other.txt").write_text("other words\n" * 9_000)
    reads = [{"calls": [call("read_file", path=name)]} for name in ("long.txt", "other.txt")]
    window = {"modelInfo": {"contextWindow": 100_000}}
    script(robota, *reads, {"text": "All done."}, **window)
    with ScreenTerminal(robota, "go", columns=160) as terminal:
        terminal.sees("(estimated)")  # the row of the finished turn
        before = percent(terminal)
        terminal.press("\x04")
        assert terminal.end() == 0
    with ScreenTerminal(robota, "--continue", columns=160) as terminal:
        assert before > 10 and abs(percent(terminal) - before) <= 2


def percent(terminal: ScreenTerminal) -> int:
    """How full the status bar says the context is."""
    rows = "\n".join(terminal.sees("%"))
    return int(re.findall(r"(\d+) ?%", rows)[-1])
