"""`robota -d`: the log that authors of clients follow while they build one."""

import json
from typing import Any

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal


def lines_of(robota: Robota) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (robota.home / ".robota/debug.log").read_text().splitlines()]


def test_each_event_is_written_with_the_resulting_state(robota: Robota) -> None:
    script(robota, {"text": "I look.", "calls": [call("list_files", path=".")]}, {"text": "secret words"})
    done = robota("-d", "-p", "look")
    assert (done.code, done.stdout) == (0, "secret words\n") and "debug.log" in done.stderr
    lines = lines_of(robota)
    states = [line for line in lines if "stateTransition" in line]
    assert states[0]["stateTransition"] == "no_task → no_task" and states[0]["event"] == "state"
    last = states[-1]
    assert (last["lastMessage"], last["currentAsk"], last["isWaitingForInput"]) == (
        "ask:completion_result",
        "completion_result",
        True,
    )
    emitted = [line["emit"] for line in lines if "emit" in line]
    assert emitted[-1] in ("waitingForInput", "taskCompleted") and emitted.count("taskCompleted") == 1
    assert {"emit": "waitingForInput", "ask": "completion_result"}.items() <= lines[
        [line.get("emit") for line in lines].index("waitingForInput")
    ].items()
    assert "secret words" not in (robota.home / ".robota/debug.log").read_text()
    assert (robota.home / ".robota/debug.log").stat().st_mode & 0o777 == 0o600


def test_a_change_of_mode_names_both_modes(robota: Robota) -> None:
    script(robota, {"text": "Hi."}, {"text": "A plan."})
    with Terminal(robota, "-d", "--plain") as terminal:
        terminal.answer("> ", "hello")
        terminal.wait_for("Hi.")
        terminal.answer("> ", "/mode architect")
        terminal.wait_for("architect")
        terminal.answer("> ", "/exit")
        assert terminal.end() == 0
    changed = [line for line in lines_of(robota) if line.get("emit") == "modeChanged"]
    assert [(line["previousMode"], line["currentMode"]) for line in changed] == [("code", "architect")]


def test_a_debug_log_that_cannot_be_written_stops_nothing(robota: Robota) -> None:
    script(robota, {"text": "Hi."})
    (robota.home / "elsewhere").write_text("mine")
    (robota.home / ".robota/debug.log").symlink_to(robota.home / "elsewhere")
    done = robota("-d", "-p", "hello")
    assert (done.code, done.stdout) == (0, "Hi.\n") and "cannot be written" in done.stderr
    assert (robota.home / "elsewhere").read_text() == "mine"
