"""What a command printed before it was stopped stays: on the screen, in the session, and for the model."""

import signal

import pytest

from tests.cli.scripts import sessions
from tests.harness.cli import Robota
from tests.harness.model_server import ModelServer, model_server
from tests.harness.screen import ScreenTerminal
from tests.harness.session_log import log_text

PRINTS = "for each in one two; do echo counted to $each; done; touch begun; sleep 1000"
RUN = {"calls": [{"name": "execute_command", "args": {"command": PRINTS}}]}
BYPASS = ("--permission-mode", "bypassPermissions")


def tool_result(server: ModelServer) -> str:
    """The newest tool result that the model was sent."""
    return [str(each["content"]) for each in server.messages() if each["role"] == "tool"][-1]


def begin(robota: Robota, terminal: ScreenTerminal) -> None:
    """Have the model start the command and wait until it has printed."""
    terminal.sees("Idle")
    terminal.press("run it\r")
    terminal.sees("counted to two")
    terminal.wait_until((robota.workspace / "begun").exists)


@pytest.mark.parametrize("key", ["\x1b", "\x03"], ids=["Esc", "Ctrl+C"])
def test_output_of_a_stopped_command_is_shown_and_sent(robota: Robota, key: str) -> None:
    with model_server(robota, RUN, {"text": "Seen."}) as server, ScreenTerminal(robota, *BYPASS) as terminal:
        begin(robota, terminal)
        terminal.press(key)
        rows = "\n".join(terminal.sees("Interrupted."))
        assert "interrupted" in rows and "counted to one" in rows and "counted to two" in rows
        terminal.press("what did it print?\r")
        terminal.sees("Seen.")
        assert "interrupted" in tool_result(server)
        assert "counted to one\ncounted to two" in tool_result(server)
    shown = robota("sessions", "show").stdout
    assert "interrupted" in shown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_output_of_a_command_is_there_after_the_process_was_ended(robota: Robota, number: signal.Signals) -> None:
    with model_server(robota, RUN, {"text": "Seen."}) as server:
        with ScreenTerminal(robota, *BYPASS) as terminal:
            begin(robota, terminal)
            [session] = sessions(robota)
            terminal.wait_until(lambda: "counted to two" in log_text(session))
            terminal.send(number)
            assert terminal.end() != 0
        with ScreenTerminal(robota, "--continue", *BYPASS) as terminal:
            rows = "\n".join(terminal.sees("Interrupted."))
            assert "counted to one" in rows and "counted to two" in rows
            terminal.press("what did it print?\r")
            terminal.sees("Seen.")
            assert "interrupted" in tool_result(server)
            assert "counted to one\ncounted to two" in tool_result(server)


def test_output_of_a_stopped_command_of_the_user_goes_with_the_next_prompt(robota: Robota) -> None:
    with model_server(robota, {"text": "Seen."}) as server, ScreenTerminal(robota) as terminal:
        terminal.sees("Idle")
        terminal.press(f"!{PRINTS}\r")
        terminal.sees("counted to two")
        terminal.wait_until((robota.workspace / "begun").exists)
        terminal.press("\x1b")
        terminal.sees("Interrupted.")
        terminal.press("what did it print?\r")
        terminal.sees("Seen.")
        sent = "\n".join(text for _, text in server.texts())
        assert "counted to one\ncounted to two" in sent and "interrupted" in sent


def test_a_flood_of_output_is_cut_in_its_middle(robota: Robota) -> None:
    flood = "seq -f 'line %.0f' 20000; touch begun; echo the end; sleep 1000"
    turn = {"calls": [{"name": "execute_command", "args": {"command": flood}}]}
    with model_server(robota, turn, {"text": "Seen."}) as server, ScreenTerminal(robota, *BYPASS) as terminal:
        terminal.sees("Idle")
        terminal.press("run it\r")
        terminal.sees("    the end")
        terminal.press("\x1b")
        terminal.sees("Interrupted.")
        terminal.press("what did it print?\r")
        terminal.sees("Seen.")
        assert len(tool_result(server)) < 40_000
        assert "line 1\n" in tool_result(server) and "the end" in tool_result(server)


SPEAKS_LATER = "touch begun; until [ -e go ]; do sleep 0.1; done; echo counted to three; touch spoken; exec sleep 1000"
START = {"calls": [{"name": "background_process", "args": {"action": "start", "command": SPEAKS_LATER, "wait": 0}}]}


@pytest.mark.parametrize("leave", ["\x04", signal.SIGTERM], ids=["Ctrl+D", "SIGTERM"])
def test_unread_output_of_a_background_process_is_there_after_the_end(
    robota: Robota, leave: str | signal.Signals
) -> None:
    with model_server(robota, START, {"text": "Started."}, {"text": "Seen."}, {"text": "Again."}) as server:
        with ScreenTerminal(robota, *BYPASS) as terminal:
            terminal.sees("Idle")
            terminal.press("run it\r")
            terminal.sees("Started.")
            (robota.workspace / "go").touch()
            terminal.wait_until((robota.workspace / "spoken").exists)
            terminal.press(leave) if isinstance(leave, str) else terminal.send(leave)
            terminal.end()
        assert "counted to three" in robota("sessions", "show").stdout
        assert "completed" in robota("sessions", "list").stdout
        with ScreenTerminal(robota, "--continue", *BYPASS) as terminal:
            assert "counted to three" in "\n".join(terminal.sees("Idle"))
            terminal.press("what did it print?\r")
            terminal.sees("Seen.")
            asked = str(server.messages()[-1]["content"])
            assert "bg1" in asked and "counted to three" in asked and "what did it print?" in asked
            terminal.press("and now?\r")
            terminal.sees("Again.")
            assert "counted to three" not in str(server.messages()[-1]["content"]), "it is told once"
