"""Whatever a client or its process does, and however it ends: the session and the others go on, and nothing is lost."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import EXECUTABLE, Robota, clean_environment, run, with_room_for
from tests.harness.terminal import Terminal
from tests.serving.test_detached import nothing_left, running, until_asked
from tests.serving.test_door import Served, answers_in, doors, log_of, serving

__all__ = ["nothing_left"]

WRITE = call("write_to_file", path="a.txt", content="a\n")
HELLO = {"type": "hello", "protocol": 1, "client": "test"}


class Client:
    """A client at a door."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        with contextlib.chdir(path.parent):
            self.socket.connect(path.name)
        self.lines = self.socket.makefile()

    def send(self, *lines: dict[str, Any]) -> None:
        self.socket.sendall("".join(json.dumps(line) + "\n" for line in lines).encode())

    def until(self, **wanted: Any) -> dict[str, Any]:
        for line in self.lines:
            read: dict[str, Any] = json.loads(line)
            if all(read.get(name) == value for name, value in wanted.items()):
                return read
        raise AssertionError(f"the connection ended before {wanted}")


@pytest.fixture
def asking(robota: Robota) -> Iterator[Served]:
    """A session that asks whether to write a file."""
    script(robota, {"calls": [WRITE]}, {"text": "Written."})
    with serving(robota) as session:
        session.send(type="newTask", text="write a file")
        session.until_ask("tool")
        yield session


def door_of(robota: Robota, session: Served) -> Path:
    return doors(robota) / f"{session.id}.sock"


def test_a_host_that_is_killed_loses_nothing_and_its_windows_are_told(robota: Robota, asking: Served) -> None:
    with Terminal(robota, "attach", "--plain") as window:
        window.wait_for("a.txt")
        asking.process.kill()
        window.wait_for("was closed. To resume it: robota --resume")
    assert running(robota) == [] and not (robota.workspace / "a.txt").exists()
    [left] = json.loads(robota("inbox", "--json").stdout)
    assert (left["sessionId"], left["pid"]) == (asking.id, None)
    script(robota, {"text": "Written."})
    assert robota("answer", asking.id, "yes").code == 0
    assert (robota.workspace / "a.txt").read_text() == "a\n"
    assert robota("sessions", "verify", asking.id).code == 0


def test_a_window_that_is_killed_harms_neither_the_others_nor_the_session(robota: Robota, asking: Served) -> None:
    command = [str(EXECUTABLE), "attach", "--json"]
    start: dict[str, Any] = {"cwd": robota.workspace, "env": clean_environment(robota.home), "text": True}
    windows = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **start) for _ in range(3)]
    try:
        for window in windows:
            assert window.stdin is not None and window.stdout is not None
            window.stdin.write(json.dumps(HELLO) + "\n")
            window.stdin.flush()
            assert '"hello"' in window.stdout.readline()
        windows[0].kill()
        assert windows[1].stdin is not None and windows[2].stdout is not None
        windows[1].stdin.write('{"type":"askResponse","askResponse":"yesButtonClicked"}\n')
        windows[1].stdin.flush()
        assert any('"taskCompleted"' in line for line in windows[2].stdout)
    finally:
        for window in windows:
            window.kill()
            window.communicate()
    asking.until_ask("completion_result")
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_an_answer_whose_sender_dies_counts_once(robota: Robota, asking: Served) -> None:
    """It was sent, so it counts, although nobody reads its receipt; a second one is too late."""
    with Client(door_of(robota, asking)).socket as sender:
        sender.sendall(b'{"type":"askResponse","askResponse":"yesButtonClicked"}\n')
    asking.until_ask("completion_result")
    assert (robota.workspace / "a.txt").read_text() == "a\n"
    late = robota("answer", asking.id, "--json", '{"askResponse":"noButtonClicked","ts":1}')
    [answer] = answers_in(log_of(robota, asking.id))
    assert late.code == 1 and answer["by"]["pid"] == os.getpid()


def test_half_a_line_keeps_nobody_waiting(robota: Robota, asking: Served) -> None:
    sleeper, other = Client(door_of(robota, asking)), Client(door_of(robota, asking))
    sleeper.socket.sendall(b'{"type":"askResponse","ts":1,"askResp')
    other.send(HELLO, {"type": "askResponse", "askResponse": "yesButtonClicked", "requestId": "1"})
    assert other.until(requestId="1")["receipt"] == "accepted"
    asking.until_ask("completion_result")
    sleeper.socket.sendall(b'onse":"yesButtonClicked","requestId":"2"}\n')
    assert sleeper.until(requestId="2")["receipt"] == "refused"


def test_ten_thousand_commands_at_once_keep_nobody_waiting(robota: Robota, asking: Served) -> None:
    """A client that sends them without reading is served as far as it reads; others are served meanwhile."""
    flood, other = Client(door_of(robota, asking)), Client(door_of(robota, asking))
    lines = [{"type": "retryNow", "requestId": str(number)} for number in range(10_000)]
    flood.socket.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        flood.send(*lines)
    other.send(HELLO, {"type": "askResponse", "askResponse": "yesButtonClicked", "requestId": "1"})
    assert other.until(requestId="1")["receipt"] == "accepted"
    asking.until_ask("completion_result")
    flood.socket.setblocking(True)
    assert flood.until(requestId="99")["code"] == "nothing_to_retry"


def test_a_version_from_the_future_is_sent_away_and_the_others_stay(robota: Robota, asking: Served) -> None:
    future = Client(door_of(robota, asking))
    future.send({**HELLO, "protocol": 99}, {"type": "askResponse", "askResponse": "yesButtonClicked"})
    assert future.until(type="error")["code"] == "unsupported_protocol"
    assert future.lines.read() == ""
    assert until_asked(robota, "tool") and not (robota.workspace / "a.txt").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_another_user_is_not_let_in(robota: Robota, tmp_path: Path) -> None:
    """Not even where the user has opened the way to a socket of their own."""
    script(robota, {"text": "Hello."})
    place = Path("/tmp") / f"robota-other-user-{os.getpid()}"
    place.mkdir(mode=0o755)
    path = place / "s.sock"
    command = [str(EXECUTABLE), "serve", "--socket", str(path)]
    ask = (
        "import os, socket, sys; os.setgid(65534); os.setuid(65534); s = socket.socket(socket.AF_UNIX);"
        "s.connect(sys.argv[1]); print(s.makefile().read())"
    )
    start: dict[str, Any] = {"cwd": robota.workspace, "env": clean_environment(robota.home), "text": True}
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, **start) as process:
            assert process.stdout is not None and process.stdout.readline()
            path.chmod(0o666)
            other = subprocess.run([sys.executable, "-c", ask, path], capture_output=True, text=True, check=False)
            process.terminate()
        assert "it belongs to another user" in other.stdout, other
    finally:
        place.rmdir()


@pytest.mark.parametrize("there", ["directory", "link"])
def test_what_is_in_the_place_of_a_door_is_not_followed(robota: Robota, tmp_path: Path, there: str) -> None:
    script(robota, {"text": "Hello."})
    victim = tmp_path / "victim"
    victim.write_text("mine")
    doors(robota).mkdir(parents=True, mode=0o700)
    (place := doors(robota) / "chosen.sock").mkdir() if there == "directory" else None
    place = doors(robota) / "chosen.sock"
    if there == "link":
        place.symlink_to(victim)
    done = robota("serve", "--stdio", "--session-id", "chosen", stdin='{"type":"newTask","text":"hello"}\n')
    assert done.code == 0 and "Hello." in done.stdout
    assert victim.read_text() == "mine"
    assert ("cannot reach this session" in done.stderr) is (there == "directory")


def test_a_session_whose_places_are_taken_is_not_said_to_have_ended(robota: Robota, asking: Served) -> None:
    """Whoever lists sessions, or wants to answer one, reads why it cannot be reached."""
    with contextlib.ExitStack() as windows:
        for _ in range(64):
            client = Client(door_of(robota, asking))
            windows.enter_context(client.socket)
            assert client.until(type="hello")
        for command in (("ps",), ("inbox", "--list")):
            assert "64 windows are open" in robota(*command).stderr
        attached = robota("attach", "--json", asking.id)
        assert attached.code == 1 and "64 windows are open" in attached.stderr
        taken = robota("answer", asking.id, "yes")
        assert taken.code != 0 and "64 windows are open" in taken.stderr
    assert until_asked(robota, "tool")


def test_a_window_without_a_terminal_is_refused_in_plain_words(robota: Robota, asking: Served) -> None:
    for option in ((), ("--plain",)):
        refused = robota("attach", asking.id, *option)
        assert (refused.code, "needs a terminal" in refused.stderr, "Traceback" in refused.stderr) == (1, True, False)


def test_a_session_that_cannot_be_logged_is_not_left_running(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    command = with_room_for(0, str(EXECUTABLE), "--detach", "hello")
    done = run(command, robota.workspace, clean_environment(robota.home), "")
    assert done.code == 1 and "Could not write to the session log" in done.stderr and done.stdout == "", done
    assert running(robota) == []


def test_many_windows_get_what_is_streamed_whole_and_in_order(robota: Robota) -> None:
    """Pieces that come while a window waits for its turn are joined, and none is lost or overtaken."""
    text = " ".join(map(str, range(2_000)))
    script(robota, {"text": text, "chunkSize": 7})
    with serving(robota) as session, contextlib.ExitStack() as windows:
        clients = [Client(door_of(robota, session)) for _ in range(6)]
        for client in clients:
            windows.enter_context(client.socket)
            client.send({**HELLO, "events": "deltas"})
            client.until(type="state")
        session.send(type="newTask", text="count")
        for client in clients:
            said, ts, seq = "", 0, 0
            for line in client.lines:
                event = json.loads(line)
                assert event["seq"] > seq
                seq = event["seq"]
                row = event.get("message", {})
                if event["type"] == "messageCreated" and row.get("say") == "text" and row.get("partial"):
                    said, ts = row["text"], row["ts"]
                elif event["type"] == "textDelta" and event["ts"] == ts:
                    said += event["delta"]
                elif event["type"] == "messageUpdated" and row["ts"] == ts:
                    assert (said, row["text"]) == (text, text)
                elif event["type"] == "taskCompleted":
                    break
            assert said == text
