"""`robota sessions search` as a user or a script runs it."""

import json

from tests.harness.cli import Robota
from tests.log.catalogue.logs import Written


def test_sessions_are_found_with_snippets_that_are_safe_to_print(robota: Robota) -> None:
    Written(robota.workspace, "s1").prompt("x").reply("the needle \x1b]0;owned\x07 \u202e here\n\nagain").end()
    finished = robota("sessions", "search", "needle", "here")
    assert finished.code == 0
    assert "    talk: the needle \\x1b]0;owned\\x07 \\u202e here again" in finished.stdout
    (found,) = json.loads(robota("sessions", "search", "needle", "--json").stdout)
    (match,) = found["matches"]
    ((start, end),) = match["found"]
    assert (found["id"], match["snippet"][start:end]) == ("s1", "needle")


def test_nothing_found_and_nothing_to_look_for(robota: Robota) -> None:
    Written(robota.workspace, "s1").prompt("x").end()
    assert robota("sessions", "search", "absent").code == 1
    for arguments in ((), ("--limit", "3"), ("***",)):
        finished = robota("sessions", "search", *arguments)
        assert finished.code == 1 and "Search for what?" in finished.stderr
    assert "is not a time" in robota("sessions", "search", "x", "--since", "yesteryear").stderr


def test_a_tool_is_named_by_its_id_or_as_on_screen(robota: Robota) -> None:
    Written(robota.workspace, "s1").prompt("x").call("edit_file", {"path": "a.py"}, "ok").end()
    for name in ("edit_file", "Edit", "edit"):
        assert "s1" in robota("sessions", "search", "--tool", name).stdout
    assert robota("sessions", "search", "--tool", "Write").code == 1


def test_files_are_named_relative_to_the_current_directory(robota: Robota) -> None:
    written = Written(robota.workspace, "s1").prompt("x")
    written.call("edit_file", {"path": "src/a.py"}, "ok").end()
    for path in ("src/a.py", "./src/../src/a.py", str(robota.workspace / "src/a.py")):
        assert "s1" in robota("sessions", "search", "--file", path).stdout
    assert robota("sessions", "search", "--file", "a.py").code == 1
    assert "s1" in robota("sessions", "search", "--since", "2020-01-01").stdout
