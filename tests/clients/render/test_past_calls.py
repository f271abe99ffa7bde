"""Calls of a conversation that is taken up: they are called, and show, what they did when they ran."""

import json
import re
from typing import Any

import msgspec
import pytest

from robota.clients.render.past_calls import past_call
from robota.clients.render.past_rows import is_past_row, past_title
from robota.clients.tui.scrollback import Scrollback
from robota.clients.tui.theme import theme_for
from robota.clients.view.model import ViewModel
from robota.protocol.message import Message
from robota.protocol.views import DiffView, TerminalView

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
DIFF = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"


def said(ts: int = 1, say: str = "tool", **told: Any) -> Message:
    return Message(ts=ts, type="say", say=say, text=json.dumps(told), call_id="c")


@pytest.mark.parametrize(
    ("told", "title"),
    [
        ({"tool": "executeCommand", "command": "make test"}, "Bash make test"),
        ({"tool": "readFile", "path": "a.txt", "content": "/w/a.txt"}, "Read a.txt"),
        ({"tool": "searchFiles", "path": ".", "content": "two"}, "Grep two ."),
        ({"tool": "listFilesRecursive", "path": ".", "content": "*.txt"}, "Glob *.txt"),
        ({"tool": "listFilesRecursive", "path": "src"}, "List src"),
        ({"tool": "newFileCreated", "path": "b.txt", "diff": DIFF}, "Write b.txt"),
        ({"tool": "somethingNew", "path": "x"}, "somethingNew x"),
    ],
)
def test_a_call_is_called_as_on_the_screen(told: dict[str, Any], title: str) -> None:
    assert past_title(said(**told)) == title


def test_a_command_that_was_approved_is_called_like_one_that_needed_no_approval() -> None:
    row = Message(ts=1, type="ask", ask="command", text="make test", call_id="c", is_answered=True)
    assert is_past_row(row) and past_title(row) == "Bash make test"
    assert not is_past_row(Message(ts=1, type="ask", ask="command", text="make test", call_id="c"))


def test_what_it_changed_printed_and_failed_with_is_there_again() -> None:
    edit = past_call(said(tool="appliedDiff", path="a.txt", diff=DIFF, diffStats={"added": 1, "removed": 1}))
    assert isinstance(edit.view, DiffView) and (edit.view.added, len(edit.view.hunks[0].lines)) == (1, 3)
    output = Message(ts=2, type="say", say="command_output", text="8\n", call_id="c")
    error = Message(ts=3, type="say", say="error", text="It failed.", call_id="c")
    command = past_call(said(tool="executeCommand", command="seq 8"), [output, error])
    assert isinstance(command.view, TerminalView) and command.view.output == "8\n"
    assert (command.status, command.reason) == ("error", "It failed.")
    assert not is_past_row(error)


@pytest.mark.parametrize("text", ["", "[]", "null", '{"tool": 3}', '{"diff": "@@ x"}', '{"tool": "newFileCreated"}'])
def test_rows_that_other_programs_wrote_do_no_harm(text: str) -> None:
    past_call(Message(ts=1, type="say", say="tool", text=text))


def test_the_terminal_ui_shows_diff_and_output_again() -> None:
    rows = [
        Message(ts=1, type="say", say="text", text="do it"),
        said(2, tool="appliedDiff", path="a.txt", diff=DIFF, diffStats={"added": 1, "removed": 1}),
        msgspec.structs.replace(said(3, tool="executeCommand", command="seq 8"), call_id="d"),
        Message(ts=4, type="say", say="command_output", text="7\n8\n", call_id="d"),
    ]
    scrollback = Scrollback(theme_for({"NO_COLOR": "1"}), lambda: 80, ViewModel)
    scrollback.show_past(rows, 0)
    shown = [COLOURS.sub("", line).rstrip() for line in scrollback.given() if line]
    assert shown == [
        "> do it",
        "■ Edit a.txt",
        "    a.txt +1 -1",
        "    1   one",
        "    2 - two",
        "    2 + 2",
        "■ Bash seq 8",
        "    7",
        "    8",
    ]
