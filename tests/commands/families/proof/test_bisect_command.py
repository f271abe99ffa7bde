"""`robota bisect`: the call that broke a test, found in a real session."""

import json
from typing import Any

import pytest

from tests.cli.scripts import call, script, write_settings
from tests.harness.cli import Robota

TEST = "! grep -q broken code.txt"


def worked(robota: Robota) -> None:
    """Four calls, of which the third breaks the code; a command makes it, in the middle of other work."""
    (robota.workspace / "code.txt").write_text("1\n")
    (robota.workspace / ".gitignore").write_text("tools/\n")
    (robota.workspace / "tools").mkdir()
    (robota.workspace / "tools/check").write_text("there")
    calls: list[dict[str, Any]] = [
        call("write_to_file", path="a.txt", content="a\n"),
        call("edit_file", path="code.txt", old_string="1", new_string="2"),
        call("execute_command", command="echo broken >> code.txt"),
        call("write_to_file", path="b.txt", content="b\n"),
    ]
    script(robota, *({"calls": [each]} for each in calls), {"text": "done"})
    done = robota("-p", "improve the code", "--permission-mode", "bypassPermissions")
    assert done.code == 0, done.stderr


def test_the_call_its_prompt_and_its_verdict_are_named(robota: Robota) -> None:
    worked(robota)
    done = robota("bisect", "--test", TEST, "--json")
    assert done.code == 0, done.stderr
    [found] = json.loads(done.stdout)["suspects"]
    assert found["call"]["input"] == {"command": "echo broken >> code.txt"}
    assert found["call"]["decision"] == "allow"
    assert (found["promptNumber"], found["prompt"]) == (1, "improve the code")
    assert "+broken" in found["diff"]
    shown = robota("bisect", "--test", TEST).stdout
    assert "execute_command" in shown and "improve the code" in shown
    assert (robota.workspace / "code.txt").read_text() == "2\nbroken\n"


def test_what_tests_need_that_is_ignored_is_there_and_the_workspace_is_not(robota: Robota) -> None:
    worked(robota)
    # In the sandbox /tmp is another one, and the workspaces of tests are in it.
    write_settings(robota, {"sandbox": {"enabled": False}})
    done = robota("bisect", "--test", f"test -e tools/check && touch made.txt && {TEST}", "--json")
    assert len(json.loads(done.stdout)["suspects"]) == 1, done.stderr
    assert not (robota.workspace / "made.txt").exists()


def test_states_that_cannot_be_tested_leave_several_suspects(robota: Robota) -> None:
    worked(robota)
    done = robota("bisect", "--test", f"grep -q 2 code.txt && ! test -e b.txt && exit 125; {TEST}", "--json")
    assert [each["call"]["tool"] for each in json.loads(done.stdout)["suspects"]] == [
        "edit_file",
        "execute_command",
        "write_to_file",
    ]


def test_changes_of_the_user_are_not_attributed_to_a_call(robota: Robota) -> None:
    worked(robota)
    (robota.workspace / "code.txt").write_text("mine\n")
    shown = robota("bisect", "--test", "! grep -q mine code.txt")
    assert shown.code == 0 and "No call of the session broke it" in shown.stdout


@pytest.mark.parametrize(("test", "words"), [("true", "Nothing is broken"), ("false", "before the first call")])
def test_a_test_that_does_not_tell_anything(robota: Robota, test: str, words: str) -> None:
    worked(robota)
    done = robota("bisect", "--test", test)
    assert done.code == 1 and words in done.stdout


def test_what_is_forbidden_is_not_run(robota: Robota) -> None:
    worked(robota)
    write_settings(robota, {"permissions": {"deny": ["Bash(grep *)"]}})
    done = robota("bisect", "--test", "grep x code.txt")
    assert done.code == 1 and "may not run" in done.stderr
