"""At a terminal, whatever a command prints of a log, a file name, settings or a server steers nothing."""

import json
from typing import Any

from robota.cli.output import in_columns
from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal
from tests.hostile.planted_session import plant_session

EVIL = "\x1b]0;owned\x07\x9b2J\u202e"
STEERING = ("\x1b]0;", "\x9b", "\u202e", "\x07")


def plant(robota: Robota) -> None:
    """A log with such words and a tool of such a name, a command in such a file, such a directory, a setting."""
    script(robota, {"calls": [call("update_todo_list", todos="[ ] one")]}, {"text": "ok"})
    assert robota("-p", "go").code == 0

    def change(kind: str, payload: dict[str, Any]) -> None:
        if "tool" in payload:
            payload["tool"] += EVIL
        elif kind == "message" and "text" in payload["message"]:
            payload["message"]["text"] += EVIL
        elif kind == "turn":
            payload["turn"]["content"].append({"type": "text", "text": EVIL})

    plant_session(robota, "planted", change)
    commands = robota.workspace / ".robota/commands"
    commands.mkdir()
    (commands / f"go{EVIL}.md").write_text("body")
    nested = robota.workspace / f".robota/sessions/dir{EVIL}"
    nested.mkdir()
    (nested / "log.jsonl").write_text("x")
    (robota.workspace / ".robota/settings.json").write_text(json.dumps({"env": {"NAME": EVIL}, "model": f"m{EVIL}"}))
    assert robota("trust", "--yes").code == 0


COMMANDS = {
    "sessions search one": "update_todo_list\\x1b]0;owned",
    "doctor --fix": "fixed",
    "skills list": "go",
    "config get model": "m\\u001b]0;owned",
    "config get env": "NAME",
    "sessions show planted --json": "planted",
    "sessions export planted --format stream-json": "owned",
}


def test_no_command_lets_it_through(robota: Robota) -> None:
    plant(robota)
    for arguments, shown in COMMANDS.items():
        with Terminal(robota, *arguments.split(), env={"TERM": "xterm-256color", "PAGER": "cat"}) as terminal:
            terminal.end()
        assert shown in terminal.screen, arguments
        assert [each for each in STEERING if each in terminal.screen] == [], arguments
    assert robota("config", "get", "model").stdout == f"m{EVIL}\n", "in a pipe it is as it was set"


def test_a_name_with_a_line_end_makes_no_row_of_its_own() -> None:
    assert in_columns([("a\nadmin  yes", "no")], 80) == ["a\\nadmin  yes  no"]
