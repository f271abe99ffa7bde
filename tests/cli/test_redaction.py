"""A key that a user pastes, a tool prints or a model repeats is in no log, no artifact and no output."""

import json

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Robota

PASTED = "sk-" + "proj-" + "Pa5ted" * 6
PRINTED = "ghp_" + "Pr1nted0" * 5
KNOWN = "elephant-42-of-the-person"
FORMATS = (["text", "--verbose"], ["json"], ["stream-json", "--verbose"])


@pytest.mark.parametrize("output", FORMATS, ids=lambda output: output[0])
def test_keys_are_in_no_log_and_in_no_output(robota: Robota, output: list[str]) -> None:
    (robota.workspace / "config.txt").write_text(f"token = {PRINTED}\n{KNOWN}\n" + "line\n" * 20_000)
    calls = [call("execute_command", command="cat config.txt"), call("read_file", path="config.txt")]
    script(robota, {"calls": calls}, {"text": f"You gave me {PASTED}, the file has {PRINTED} and {KNOWN}."})
    done = robota("-p", f"use {PASTED}", "--output-format", *output, env={"MY_TOKEN": KNOWN})
    assert done.code == 0 and "You gave me" in done.stdout
    kept = b"".join(path.read_bytes() for path in (robota.workspace / ".robota").rglob("*") if path.is_file())
    for key in (PASTED, PRINTED, KNOWN):
        assert key not in done.stdout + done.stderr
        assert key.encode() not in kept
    assert robota("sessions", "verify", _only_session(robota)).code == 0


def test_the_model_still_works_with_what_is_really_there(robota: Robota) -> None:
    (robota.workspace / "config.txt").write_text(f"token = {PRINTED}\n")
    edit = call("edit_file", path="config.txt", old_string=PRINTED, new_string="from the environment")
    script(robota, {"calls": [call("read_file", path="config.txt")]}, {"calls": [edit]}, {"text": "ok"})
    assert robota("-p", "go", "--permission-mode", "acceptEdits").code == 0
    assert (robota.workspace / "config.txt").read_text() == "token = from the environment\n"


def test_control_sequences_of_a_tool_do_not_reach_the_screen(robota: Robota) -> None:
    """Neither the output of a command nor a command that waits for approval can move the cursor."""
    (robota.workspace / "out.txt").write_text("a\x1b]52;c;eA==\x07\x1b[2J\x9bb\u202e\rc\n")
    asked = "rm -rf x\x1b[2K\x1b[1A # \u202e"
    calls = [call("execute_command", command="cat out.txt"), call("execute_command", command=asked)]
    script(robota, {"calls": calls}, {"text": "ok"})
    for arguments in (["--verbose"], [], ["--output-format", "stream-json", "--verbose"]):
        done = robota("-p", "go", *arguments)
        for sign in "\x1b\x07\x9b\u202e":
            assert sign not in done.stderr
        assert "\x1b" not in done.stdout


def _only_session(robota: Robota) -> str:
    [session] = json.loads(robota("sessions", "list", "--json").stdout)
    return str(session["id"])
