"""Calls in the rows of logs that older versions or other programs wrote: titles and views are found in their JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.protocol.message import Message
from robota.protocol.seed_calls import is_call_row, title_in, view_in_row
from robota.protocol.unified_diff import parts_in, unified
from robota.protocol.views import DiffHunk, DiffsView, DiffView, TerminalView
from robota.tools.editing.diff import difference

DIFF = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
lines = st.lists(st.text(alphabet="ab@+-* \r\x85", max_size=4), max_size=12).map("\n".join)


def said(**told: Any) -> Message:
    return Message(ts=1, type="say", say="tool", text=json.dumps(told), call_id="c")


@pytest.mark.parametrize(
    ("told", "title"),
    [
        ({"tool": "executeCommand", "command": "make test"}, "Bash make test"),
        ({"tool": "readFile", "path": "a.txt", "content": "/w/a.txt"}, "Read a.txt"),
        ({"tool": "searchFiles", "path": ".", "content": "two"}, "Grep two ."),
        ({"tool": "listFilesRecursive", "path": ".", "content": "*.txt"}, "Glob *.txt"),
        ({"tool": "listFilesRecursive", "path": "src"}, "List src"),
        ({"tool": "newFileCreated", "path": "b.txt", "diff": DIFF}, "Write b.txt"),
        ({"serverName": "s", "toolName": "t"}, "mcp--s--t"),
        ({"tool": "somethingNew", "path": "x"}, "somethingNew x"),
    ],
)
def test_a_call_is_called_as_on_the_screen(told: dict[str, Any], title: str) -> None:
    assert title_in(said(**told)) == title


def test_a_command_that_was_approved_is_called_like_one_that_needed_no_approval() -> None:
    row = Message(ts=1, type="ask", ask="command", text="make test", call_id="c", is_answered=True)
    assert is_call_row(row) and title_in(row) == "Bash make test"
    assert view_in_row(row) == TerminalView(command="make test", output="")
    assert not is_call_row(Message(ts=1, type="ask", ask="command", text="make test", call_id="c"))


def test_what_it_changes_is_there_again() -> None:
    edit = view_in_row(said(tool="appliedDiff", path="a.txt", diff=DIFF, diffStats={"added": 7, "removed": 1}))
    assert isinstance(edit, DiffView) and (edit.path, edit.added, len(edit.hunks[0].lines)) == ("a.txt", 7, 3)
    patch = view_in_row(said(tool="appliedDiff", path="a, b", diff=f"*** add: a\n{DIFF}*** delete: b\n{DIFF}"))
    assert isinstance(patch, DiffsView) and [(file.path, file.added) for file in patch.files] == [("a", 1), ("b", 1)]


@given(lines, lines)
def test_the_hunks_of_any_change_are_read_back_as_they_were(old: str, new: str) -> None:
    made = difference("a", old, new)
    found = [hunk for _, hunks in parts_in(made.unified) for hunk in hunks]
    assert tuple(found) == made.view.hunks


def test_a_remark_on_what_is_not_shown_is_read_back() -> None:
    made = difference("a", "old\n" * 400_000, "new\n" * 400_000)
    assert made.unseen and [hunk for _, hunks in parts_in(made.unified) for hunk in hunks] == list(made.view.hunks)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", '{"tool": 3}', '{"diff": "@@ x"}', '{"diff": "@@ -1 +1 @@"}', '{"tool": "newFileCreated"}'],
)
def test_rows_that_other_programs_wrote_do_no_harm(text: str) -> None:
    row = Message(ts=1, type="say", say="tool", text=text)
    title_in(row)
    assert view_in_row(row) is None or isinstance(view_in_row(row), DiffView)


def test_a_hunk_is_written_as_it_is_read() -> None:
    [(_, [hunk])] = parts_in(DIFF)
    assert isinstance(hunk, DiffHunk) and unified(hunk) == DIFF
