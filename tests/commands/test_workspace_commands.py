"""`/diff`, `/background`, `/review` and `/doctor` in a conversation."""

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal


def test_diff_shows_the_changes_of_the_session(robota: Robota) -> None:
    (robota.workspace / "fence.txt").write_text("brown\n")
    read, paint = call("read_file", path="fence.txt"), call("write_to_file", path="fence.txt", content="green\n")
    script(robota, {"calls": [read]}, {"calls": [paint]}, {"text": "Painted."})
    with Terminal(robota, "--permission-mode", "acceptEdits") as terminal:
        terminal.answer("> ", "/diff")
        terminal.wait_for("> ")
        terminal.press("paint it\n")
        terminal.wait_for("Painted.")
        terminal.answer("> ", "/diff")
        assert "-brown" in terminal.wait_for("+green")
        terminal.answer("> ", "/diff everything")
        terminal.wait_for("Usage: /diff [N]")
    assert "+green" in robota("-p", "/diff", "--continue").stdout


def test_background_commands_are_listed_and_stopped(robota: Robota) -> None:
    start = call("background_process", action="start", command="sleep 600")
    count = call("background_process", action="start", command="seq 1 300; touch counted")
    script(robota, {"calls": [start, count]}, {"text": "Started."})
    with Terminal(robota, "--allowed-tools", "Bash") as terminal:
        terminal.answer("> ", "/background")
        terminal.wait_for("There is no background work.")
        terminal.answer("> ", "go")
        terminal.wait_for("Started.")
        terminal.answer("> ", "/background")
        terminal.wait_for("sleep 600")
        terminal.wait_until((robota.workspace / "counted").exists)
        terminal.answer("> ", "/background read bg2 80")
        assert "\n    81\n" in terminal.wait_for("... +20 lines (/background read bg2 280)")
        terminal.answer("> ", "/background read 2 300")
        terminal.wait_for("bg2 has no output after line 300.")
        terminal.answer("> ", "/background stop 7")
        terminal.wait_for("There is no background work 7.")
        terminal.answer("> ", "/background stop 1")
        terminal.wait_for("Ended: bg1 (sleep 600).")
        terminal.answer("> ", "/background stop all")
        terminal.wait_for("There is no background work.")
    assert robota("-p", "/background read all").stdout == "There is no output of background work.\n"


def test_review_starts_a_task(robota: Robota) -> None:
    script(robota, {"text": "All is well.", "expect": {"user": "Above all: the gate"}})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/review the gate")
        terminal.wait_for("All is well.")
        terminal.hang_up()
    with Terminal(robota, "--continue") as terminal:
        shown = terminal.wait_for("All is well.")
        assert "> /review the gate\n" in shown and "Above all" not in shown, "its prompt is ours, not what was said"
    assert robota("-p", "/review the gate").stdout == "All is well.\n"


def test_a_review_needs_a_model(robota: Robota) -> None:
    assert robota("-p", "/review").code == 3


def test_doctor_checks_the_requirements(robota: Robota) -> None:
    script(robota, {"text": "never asked"})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/doctor")
        terminal.wait_for("robota")
        terminal.wait_for("git")
    assert "ripgrep" in robota("-p", "/doctor").stdout
