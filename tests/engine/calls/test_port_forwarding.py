"""A dev server in the background: the person is offered its port, once."""

from pathlib import Path

import pytest

from robota.protocol.events import ToolEnd
from robota.workspace.sandbox.session_sandbox import SessionSandbox
from tests.engine.stage import Stage, call, play, tool_results
from tests.workspace.sandbox.cells import PYTHON
from tests.workspace.sandbox.test_session_network import SERVE

DONE = {"text": "done"}
START = {"calls": [call("background_process", action="start", command=f"{PYTHON} serve.py", wait=60)]}
READ = {"calls": [call("background_process", action="read", id="bg1", tail=3)]}
AGAIN = {"calls": [call("background_process", action="read", id="bg1")]}


@pytest.fixture(autouse=True)
def server(workspace: Path) -> None:
    sandbox = SessionSandbox(workspace, home=None)
    kind = sandbox.backend.kind
    sandbox.close()
    if kind != "bubblewrap":
        pytest.skip("no bubblewrap")
    (workspace / "serve.py").write_text(SERVE)


def test_a_yes_forwards_the_port_and_it_is_not_asked_about_again(workspace: Path) -> None:
    """The question is "Forward port 5173 to your machine?"."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        ask = await stage.until_ask("tool")
        assert "Forward port" in (ask.text or "")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        first = tool_results(stage)[0]
        assert "http://127.0.0.1:" in first.content and "bg1" in first.content
        assert [end.status for end in stage.events_of(ToolEnd)] == ["success", "success", "success"]

    play(workspace, [START, READ, AGAIN, DONE], story)


def test_a_no_leaves_the_server_to_the_commands_of_the_session(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("tool")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")
        first = tool_results(stage)[0]
        assert "Started as bg1" in first.content and "http://" not in first.content

    play(workspace, [START, DONE], story)


def test_where_nobody_can_answer_the_model_learns_of_the_port(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "is now open to commands of this session" in tool_results(stage)[0].content

    play(workspace, [START, DONE], story, attended=False, allowed_tools=("Bash",))
