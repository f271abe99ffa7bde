"""The rows at the bottom of the terminal UI: the status bar, and the user's own status command."""

import json
import re

import pytest

from tests.cli.scripts import call, script, trust, write_settings
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal


def test_the_status_line_is_switched_and_safety_stays_visible(robota: Robota) -> None:
    script(robota, {"text": "Never said."})
    with ScreenTerminal(robota, "--name", "sums") as terminal:
        assert terminal.sees("Idle | Mode: default | sandbox: on | sums | git: main")
        terminal.press("/statusline git off\r")
        terminal.sees_no_more("git: main")
        terminal.press("/statusline off\r")
        terminal.sees_no_more("on | sums")
        assert "Idle | Mode: default | sandbox: on" in terminal.rows
        terminal.press("/statusline reset\r")
        terminal.sees("Idle | Mode: default | sandbox: on | sums | git: main")
    kept = json.loads((robota.home / ".robota" / "settings.json").read_text())
    assert not kept.get("statusline")


def test_a_status_command_gets_a_report_of_the_session_and_is_shown(robota: Robota) -> None:
    script(robota, {"calls": [call("write_to_file", path="new.txt", content="one\n")]}, {"text": "Said."})
    settings = json.loads((robota.home / ".robota" / "settings.json").read_text())
    program = robota.home / "status.sh"
    program.write_text(
        '#!/bin/sh\ncat > "$HOME/new" && mv "$HOME/new" "$HOME/told"\n'
        'printf "\\033[35mmy own \\033]0;stolen\\007line\\033[0m\\nand more\\n"\n'
    )
    program.chmod(0o755)
    write_settings(robota, {**settings, "statusLine": {"type": "command", "command": str(program)}})
    with ScreenTerminal(robota, "--name", "sums") as terminal:
        rows = terminal.sees("my own ")
        place = next(place for place, row in enumerate(rows) if row.startswith("my own "))
        assert "‹U+001B›]0;stolen" in rows[place] and terminal.colour(place, 0) == "magenta"
        assert rows[place + 1] == "and more" and rows[place + 2].startswith("Idle | Mode: default")
        terminal.resize(40, 5)
        terminal.sees_no_more("my own ")
        terminal.press("go\r")
        terminal.sees("? Write new.txt")
        terminal.sees("  y yes  a rule  n no  r rules  e  w")
        terminal.press("y")
        terminal.sees("Said.")
        # Robota's end may cut off what it is telling the command just then.
        told = json.loads((robota.home / "told").read_text())
    assert told["session_name"] == "sums" and told["workspace"]["current_dir"] == str(robota.workspace)
    assert told["cost"].keys() >= {"total_cost_usd", "total_duration_ms", "total_api_duration_ms"}


def test_a_status_command_gets_the_number_of_changed_lines(robota: Robota) -> None:
    write = call("write_to_file", path="new.txt", content="one\ntwo\n")
    script(robota, {"calls": [write], "usage": {"input": 10, "output": 1}}, {"text": "Said."})
    settings = json.loads((robota.home / ".robota" / "settings.json").read_text())
    count = "grep -o 'lines_added.:[0-9]*'"
    write_settings(robota, {**settings, "statusLine": {"type": "command", "command": count}})
    with ScreenTerminal(robota, "--permission-mode", "acceptEdits") as terminal:
        terminal.sees('lines_added":0')
        terminal.press("go\r")
        terminal.sees('lines_added":2')


def test_a_status_command_that_fails_says_so_and_disturbs_nothing(robota: Robota) -> None:
    script(robota, {"text": "Said."})
    settings = json.loads((robota.home / ".robota" / "settings.json").read_text())
    write_settings(robota, {**settings, "statusLine": {"type": "command", "command": "exit 3"}})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("it failed with exit code 3.")
        terminal.press("hi\r")
        terminal.sees("Said.")


def test_a_status_script_of_the_workspace_does_not_run_after_it_changed(robota: Robota) -> None:
    program = robota.workspace / "status.sh"
    program.write_text("#!/bin/sh\necho honest line\n")
    program.chmod(0o755)
    script(robota, {"text": "Said."})
    settings = json.loads((robota.home / ".robota" / "settings.json").read_text())
    write_settings(robota, {**settings, "statusLine": {"type": "command", "command": "./status.sh"}})
    trust(robota)
    with ScreenTerminal(robota) as terminal:
        terminal.sees("honest line")
        program.write_text("#!/bin/sh\necho planted line\n")
        terminal.press("go\r")
        terminal.sees("The status command was not run: status.sh changed")
        terminal.sees_no_more("planted line")


def test_a_theme_is_seen_before_it_is_taken_and_left_as_it_was_with_escape(robota: Robota) -> None:
    script(robota, {"text": "Never said."})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press("/theme\r")
        terminal.sees("❯ auto")
        terminal.press("\x1b[B\x1b[B")
        terminal.sees("❯ light")
        terminal.press("\x1b")
        terminal.sees_no_more("Enter select")
        terminal.press("/theme\r")
        terminal.sees("Enter select")
        terminal.press("colour\r")
        terminal.sees("theme: colour-blind")
    assert json.loads((robota.home / ".robota" / "settings.json").read_text())["theme"] == "colour-blind"


def test_with_reduced_motion_an_answer_comes_in_whole_blocks_and_nothing_counts(robota: Robota) -> None:
    wait = call("execute_command", command="touch begun; while [ ! -e go ]; do sleep 0.05; done")
    script(robota, {"text": "First words.\n\nLast", "calls": [wait]}, {"text": "Over."})
    motion = {"ROBOTA_REDUCED_MOTION": "1"}
    with ScreenTerminal(robota, "--permission-mode", "bypassPermissions", env=motion) as terminal:
        terminal.sees("Idle")
        terminal.press("run it\r")
        terminal.wait_until((robota.workspace / "begun").exists)
        terminal.sees("□ Bash touch begun")
        (robota.workspace / "go").touch()
        terminal.sees("Over.")


@pytest.mark.parametrize(
    ("env", "asked", "done"),
    [
        ({}, "\x07", "\x07"),
        ({"TERM_PROGRAM": "iTerm.app"}, "\x1b]9;Robota is waiting for you\x07", "\x1b]9;Robota is done\x07"),
        (
            {"TERM": "foot"},
            "\x1b]777;notify;Robota;Robota is waiting for you\x07",
            "\x1b]777;notify;Robota;Robota is done\x07",
        ),
    ],
)
def test_a_user_who_looks_elsewhere_is_notified_in_the_way_of_the_terminal(
    robota: Robota, env: dict[str, str], asked: str, done: str
) -> None:
    script(robota, {"calls": [call("execute_command", command="touch made")]}, {"text": "Made."}, {"text": "Seen."})
    with ScreenTerminal(robota, env=env) as terminal:
        terminal.sees("Idle")
        terminal.press("\x1b[Omake it\r")  # the window has lost the focus
        terminal.sees("y yes")
        assert notifications(terminal) == [asked]
        terminal.press("y")
        terminal.sees("Made.")
        terminal.sees("Idle")
        assert notifications(terminal) == [asked, done]
        terminal.press("\x1b[Iagain\r")  # and has it again
        terminal.sees("Seen.")
        terminal.sees("Idle")
        assert notifications(terminal) == [asked, done]


def notifications(terminal: ScreenTerminal) -> list[str]:
    return re.findall("(?:\x1b\\](?:9|777);[^\x07]*)?\x07", re.sub("\x1b\\]2;[^\x07]*\x07", "", terminal.screen))
