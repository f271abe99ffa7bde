"""The rows at the bottom of the terminal UI: the status bar, and the person's own status command."""

import json

from tests.cli.scripts import script, write_settings
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


def test_a_command_of_the_settings_is_told_of_the_session_and_shown(robota: Robota) -> None:
    script(robota, {"text": "Said."})
    settings = json.loads((robota.home / ".robota" / "settings.json").read_text())
    program = robota.home / "status.sh"
    program.write_text('#!/bin/sh\ncat > "$HOME/told"\nprintf "\\033[35mmy own \\033]0;stolen\\007line\\033[0m\\n"\n')
    program.chmod(0o755)
    write_settings(robota, {**settings, "statusLine": {"type": "command", "command": str(program)}})
    with ScreenTerminal(robota, "--name", "sums") as terminal:
        rows = terminal.sees("my own ")
        place = next(place for place, row in enumerate(rows) if row.startswith("my own "))
        assert "‹U+001B›]0;stolen" in rows[place] and terminal.colour(place, 0) == "magenta"
        assert rows[place + 1].startswith("Idle | Mode: default")
    told = json.loads((robota.home / "told").read_text())
    assert told["session_name"] == "sums" and told["workspace"]["current_dir"] == str(robota.workspace)


def test_a_status_command_that_fails_says_so_and_disturbs_nothing(robota: Robota) -> None:
    script(robota, {"text": "Said."})
    settings = json.loads((robota.home / ".robota" / "settings.json").read_text())
    write_settings(robota, {**settings, "statusLine": {"type": "command", "command": "exit 3"}})
    with ScreenTerminal(robota) as terminal:
        terminal.sees("it failed with exit code 3.")
        terminal.press("hi\r")
        terminal.sees("Said.")
