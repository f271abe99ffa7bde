"""A model that is talked into writing half of a character, which no file, path or command can hold."""

import json
from typing import Any

import pytest

from tests.cli.scripts import script
from tests.harness.cli import Robota

HALF = "x\ud800"
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "command": ("execute_command", {"command": f"ls {HALF}"}),
    "directory": ("execute_command", {"command": "ls", "cwd": HALF}),
    "read": ("read_file", {"path": HALF}),
    "write": ("write_to_file", {"path": HALF, "content": "a"}),
    "content": ("write_to_file", {"path": "a.txt", "content": HALF}),
    "search": ("search_files", {"path": ".", "regex": HALF}),
    "list": ("list_files", {"path": HALF}),
    "address": ("web_fetch", {"url": f"http://{HALF}/", "prompt": "x"}),
    "todos": ("update_todo_list", {"todos": f"- [ ] {HALF}"}),
    "name": ("read_file", {"path": "a", HALF: 1}),
}


@pytest.mark.parametrize("mode", ["default", "bypassPermissions"])
@pytest.mark.parametrize(("name", "arguments"), CALLS.values(), ids=CALLS.keys())
def test_the_call_is_an_error_and_the_session_goes_on(
    robota: Robota, name: str, arguments: dict[str, Any], mode: str
) -> None:
    script(robota, {"calls": [{"name": name, "arguments": json.dumps(arguments)}]}, {"text": "the end"})
    done = robota("-p", "go", "--permission-mode", mode)
    assert (done.code, done.stdout) == (0, "the end\n"), done.stderr
    assert sorted(path.name for path in robota.workspace.iterdir()) == [".git", ".robota"]


def test_both_halves_are_one_character(robota: Robota) -> None:
    arguments = '{"path": "a.txt", "content": "\\ud83d\\ude00"}'
    script(robota, {"calls": [{"name": "write_to_file", "arguments": arguments}]}, {"text": "the end"})
    robota("-p", "go", "--permission-mode", "acceptEdits")
    assert (robota.workspace / "a.txt").read_text() == "\N{GRINNING FACE}"
