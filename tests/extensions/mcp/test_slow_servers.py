"""Slow MCP servers: the user sees what is waited for and can stop waiting."""

import signal
import subprocess
from pathlib import Path

from tests.extensions.mcp.setup import DONE, PlainServer, configure
from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.harness.terminal import Terminal

WAITING = "Waiting for MCP servers to start: plain. Each has 50 s"
LONG = {"MCP_TIMEOUT": "50000"}


def hanging(robota: Robota, directory: Path) -> PlainServer:
    server = PlainServer(directory)
    configure(robota, {"plain": server.entry(at_start="hang"), "other": {"command": "/no/such/server"}}, [DONE])
    return server


def test_print_mode_says_what_it_waits_for_and_can_be_stopped(robota: Robota, tmp_path: Path) -> None:
    hanging(robota, tmp_path)
    process = subprocess.Popen(
        [str(EXECUTABLE), "-p", "go"],
        cwd=robota.workspace,
        env={**clean_environment(robota.home), **LONG},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert WAITING.encode() in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, b"") and b"Stopped by SIGINT" in err
    assert children_with(tmp_path) == []


def test_in_a_conversation_ctrl_c_stops_the_waiting(robota: Robota, tmp_path: Path) -> None:
    server = hanging(robota, tmp_path)
    with Terminal(robota, "first", env=LONG) as terminal:
        terminal.wait_for(WAITING)
        terminal.press("\x03")
        terminal.wait_for("Stopped before the task started")
        configure(robota, {"plain": server.entry()}, [DONE])
        assert terminal.hang_up() == 0
    assert children_with(tmp_path) == []


def test_fast_servers_cause_no_notice(robota: Robota, tmp_path: Path) -> None:
    configure(robota, {"other": {"command": "/no/such/server"}}, [DONE])
    done = robota("-p", "go")
    assert done.stdout == "done\n" and "Waiting" not in done.stderr


def children_with(word: Path) -> list[str]:
    """Command lines of processes that name the directory of the test."""
    lines = map(text_of, Path("/proc").glob("[0-9]*/cmdline"))
    return [line for line in lines if str(word) in line and "plain_server" in line]


def text_of(path: Path) -> str:
    try:
        return path.read_text(errors="replace")  # of any process on this machine
    except OSError:
        return ""
