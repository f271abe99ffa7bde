"""A dev server in the background: its port is announced, and forwarded only if the user agrees."""

from pathlib import Path

import pytest

from robota.workspace.sandbox.session_sandbox import SessionSandbox
from tests.engine.stage import Stage, call, play, tool_results
from tests.workspace.sandbox.cells import PYTHON
from tests.workspace.sandbox.test_session_network import SERVE

DONE = {"text": "done"}
START = {"calls": [call("background_process", action="start", command=f"{PYTHON} serve.py", wait=60)]}
READ = {"calls": [call("background_process", action="read", id="bg1", tail=3)]}
PORT = 8123
FORWARD = {"calls": [call("background_process", action="forward", port=PORT)]}


@pytest.fixture(autouse=True)
def server(workspace: Path) -> None:
    sandbox = SessionSandbox(workspace, home=None)
    kind = sandbox.backend.kind
    sandbox.close()
    if kind != "bubblewrap":
        pytest.skip("no bubblewrap")
    (workspace / "serve.py").write_text(SERVE)


def test_a_server_is_announced_without_a_question(workspace: Path) -> None:
    """Most servers are only for the commands of the session; a question about each would be one too many."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        first = tool_results(stage)[0]
        assert "is now open to commands of this session" in first.content and "forward it" in first.content
        assert "Started as bg1" in first.content and "http://" not in first.content

    play(workspace, [START, READ, DONE], story)


def test_forwarding_is_asked_about(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("tool")
        assert "Forward port" in (ask.text or "")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")

    play(workspace, [FORWARD, DONE], story)


def test_where_nobody_can_answer_the_model_learns_of_the_port(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "is now open to commands of this session" in tool_results(stage)[0].content

    play(workspace, [START, DONE], story, attended=False, allowed_tools=("Bash",))
