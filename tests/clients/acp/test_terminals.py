"""Commands in the terminals of an editor: shown there, and run in the sandbox of Robota."""

import subprocess
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.clients.acp.editor import Editor, editing, selects
from tests.harness.cli import Robota, clean_environment


class Terminals:
    """The terminals of an editor, which run what they are told to."""

    def __init__(self, robota: Robota, editor: Editor) -> None:
        self._robota = robota
        self.running: list[subprocess.Popen[str]] = []
        editor.answers["terminal/create"] = self._create
        editor.answers["terminal/wait_for_exit"] = lambda params: None  # while the command runs
        editor.answers["terminal/release"] = lambda params: {}
        editor.answers["session/request_permission"] = selects("allow_once")

    def _create(self, params: dict[str, Any]) -> Any:
        command, env = [params["command"], *params["args"]], clean_environment(self._robota.home)
        self.running.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
        return {"terminalId": f"terminal-{len(self.running)}"}


@pytest.mark.parametrize(("command", "code"), [("echo one; echo two", 0), ("echo one; exit 3", 3)])
def test_the_output_of_a_command_is_printed_in_a_terminal(robota: Robota, command: str, code: int) -> None:
    waiting = f"until [ -e shown ]; do sleep 0.1; done; {command}"
    script(robota, {"calls": [call("execute_command", command=waiting)]}, {"text": "Done."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace, terminal=True)
        terminals = Terminals(robota, editor)
        # The editor is asked for this once the call shows the terminal.
        editor.answers["terminal/wait_for_exit"] = lambda params: (robota.workspace / "shown").touch()
        assert editor.prompt(session, "go") == "end_turn"
        [terminal] = terminals.running
        out, _ = terminal.communicate(timeout=60)
        assert terminal.returncode == code and out.split()[0] == "one"
        [shown] = [request for request in editor.requests if request["method"] == "terminal/create"]
        assert command not in str(shown["params"]), "the editor itself runs no command of the model"
        [done] = editor.calls().values()
        assert done["content"] == [{"type": "terminal", "terminalId": "terminal-1"}]


def test_a_terminal_that_the_user_ends_stops_the_command(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="echo begun; sleep 600")]}, {"text": "Stopped."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace, terminal=True)
        terminals = Terminals(robota, editor)
        editor.answers["terminal/wait_for_exit"] = lambda params: {"exitCode": None, "signal": "SIGTERM"}
        assert editor.prompt(session, "go") == "end_turn" and editor.said() == "Stopped."
        assert terminals.running[0].wait(60) is not None
        terminals.running[0].communicate()


def test_an_editor_that_makes_no_terminal_shows_the_output_as_text(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="echo one")]}, {"text": "Done."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace, terminal=True)
        Terminals(robota, editor)

        def refuse(params: dict[str, Any]) -> None:
            editor.send({"id": editor.requests[-1]["id"], "error": {"code": -32603, "message": "no"}})

        editor.answers["terminal/create"] = refuse
        assert editor.prompt(session, "go") == "end_turn"
        [done] = editor.calls().values()
        assert "one" in done["content"][0]["content"]["text"]
