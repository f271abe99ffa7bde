"""The examples of the page about the SDK run, and so does a command line of one's own."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.cli.scripts import call, script, sessions, write_settings
from tests.harness.cli import Robota, clean_environment

PAGE = Path(__file__).parents[2] / "docs" / "sdk.md"
QUERY, CONVERSATION, ADDITIONS, PROVIDER = re.findall(
    r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


def run(robota: Robota, program: str, *arguments: str, typed: str = "") -> str:
    """What the program prints. It must end well and complain about nothing."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=robota.workspace,
        env=clean_environment(robota.home),
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_one_prompt(robota: Robota) -> None:
    script(robota, {"calls": [call("list_files", path=".")]}, {"text": "None."})
    assert run(robota, QUERY) == "List: success\nNone.\n"


def test_a_conversation(robota: Robota) -> None:
    """One write is approved and one is not; a question that the handler leaves open is answered by hand."""
    script(
        robota,
        {"text": "I write it. ", "calls": [call("write_to_file", path="hello.txt", content="hello\n")]},
        {"calls": [call("write_to_file", path="other.txt", content="other\n")]},
        {"calls": [call("ask_followup_question", question="Which?", follow_up=[{"text": "red"}])]},
        {"expect": {"result": "blue"}, "text": "Done."},
    )
    printed = run(robota, CONVERSATION, typed="blue\n")
    assert printed.endswith("Done.\n") and "Which?" in printed
    assert (robota.workspace / "hello.txt").read_text() == "hello\n"
    assert not (robota.workspace / "other.txt").exists()
    [session] = sessions(robota)
    assert robota("sessions", "verify", session.name).code == 0


def test_additions_are_there_in_print_mode(robota: Robota) -> None:
    """The tool is offered and called; a command that may change something does not run where nobody attends."""
    script(robota, {"calls": [call("ticket", number=7)]}, {"expect": {"result": "Ticket 7"}, "text": "Open."})
    printed = run(robota, ADDITIONS, "-p", "go", "--output-format", "stream-json")
    lines = [json.loads(line) for line in printed.splitlines()]
    assert "ticket" in lines[0]["tools"] and "deploy" in lines[0]["slash_commands"]
    assert lines[-1]["result"] == "Open."
    assert "robota" in run(robota, ADDITIONS, "--version")


def test_a_command_of_a_conversation(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    reading = ADDITIONS.replace("run=deploy)", "run=deploy, reads_only=True)")
    assert "Deployed to production." in run(robota, reading, "-p", "/deploy production")


def test_a_provider(robota: Robota) -> None:
    write_settings(robota, {})
    assert run(robota, PROVIDER) == "You said something in 1 turn.\n"
