"""What the pages about the protocol and about windows show runs as it is written there."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.cli.scripts import call, script
from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.harness.terminal import Terminal
from tests.serving.test_detached import nothing_left, running, until_asked

__all__ = ["nothing_left"]

DOCS = Path(__file__).parents[2] / "docs"
WRITE = call("write_to_file", path="hello.txt", content="hello\n")
QUESTION = call("ask_followup_question", question="Which?", follow_up=[{"text": "red"}])


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_client_of_the_page_asks_prints_and_imports_nothing_of_robota(robota: Robota) -> None:
    [client] = [block for block in blocks("protocol.md", "python") if "subprocess" in block]
    assert "robota." not in client and len(client.splitlines()) < 40
    script(robota, {"calls": [WRITE]}, {"calls": [QUESTION]}, {"expect": {"result": "blue"}, "text": "It is done."})
    env = clean_environment(robota.home)
    done = subprocess.run(
        [sys.executable, "-I", "-c", client, "write", "hello"],
        cwd=robota.workspace,
        env={**env, "PATH": f"{Path(EXECUTABLE).parent}:{env['PATH']}"},
        input="y\nblue\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("It is done.\n"), done
    assert (robota.workspace / "hello.txt").read_text() == "hello\n"


def test_the_commands_of_the_page_about_windows_run_one_after_the_other(robota: Robota) -> None:
    [shown] = blocks("attach.md", "console")
    lines = [shlex.split(line.removeprefix("$ robota ")) for line in shown.splitlines()]
    script(robota, {"calls": [WRITE]}, {"text": "Written."})
    for words in lines:
        if words[0] == "ps":
            until_asked(robota, "tool")
        if words[0] == "stop":
            until_asked(robota, "completion_result")
            script(robota, {"text": "Bonjour."})
        done = robota(*words)
        assert done.code == 0, (words, done)
    assert (robota.workspace / "hello.txt").read_text() == "hello\n"
    assert running(robota)


def test_a_session_left_with_a_question_begins_with_the_offer_to_go_on(robota: Robota) -> None:
    """A client that looks at the last message never takes the old question for one that waits for it."""
    script(robota, {"calls": [WRITE]}, {"text": "Written."})
    robota("--detach", "write")
    asked = until_asked(robota, "tool")
    robota("stop", asked["sessionId"])
    done = robota("serve", "--stdio", "--resume", asked["sessionId"], stdin='{"type":"webviewDidLaunch"}\n')
    states = [json.loads(line)["state"] for line in done.stdout.splitlines() if '"type":"state"' in line]
    assert [state["clineMessages"][-1]["ask"] for state in states] == ["resume_task"] * len(states) and states


def test_hooks_are_told_that_the_user_has_left(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    path = robota.home / ".robota/settings.json"
    hook = {"type": "command", "command": f"cat > {robota.home}/ended"}
    hooks = {"SessionEnd": [{"matcher": "prompt_input_exit", "hooks": [hook]}]}
    path.write_text(json.dumps({**json.loads(path.read_text()), "hooks": hooks}))
    with Terminal(robota, "--plain", "say hello") as window:
        window.wait_for("Hello.")
        window.answer("> ", "/exit")
        assert window.end() == 0
    assert json.loads((robota.home / "ended").read_text())["reason"] == "prompt_input_exit"
