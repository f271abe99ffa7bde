"""`robota serve --stdio`: programs in other processes run sessions over standard streams."""

import contextlib
import json
import shutil
import socket
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from robota.protocol.schema import protocol_schema
from tests.cli.scripts import call, script
from tests.harness.cli import EXECUTABLE, Robota, clean_environment

QUESTION = call("ask_followup_question", question="Which?", follow_up=[{"text": "red"}])
SEED_CLIENT = Path(__file__).with_name("seed_client.mjs")


def lines_valid_for(shape: str, lines: list[str]) -> list[dict[str, Any]]:
    """The lines, each of which must have this shape of the published schema."""
    schema = protocol_schema()
    jsonschema: Any = import_module("jsonschema")
    check = jsonschema.Draft202012Validator({**schema["properties"][shape], "$defs": schema["$defs"]})
    read = [json.loads(line) for line in lines]
    for line in read:
        check.validate(line)
    return read


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_client_written_from_the_documents_alone_runs_everything(robota: Robota, tmp_path: Path) -> None:
    script(
        robota,
        {"text": "First.", "calls": [call("execute_command", command="echo one > one.txt")]},
        {"calls": [call("write_to_file", path="two.txt", content="two\n")]},
        {"expect": {"result": "not this one"}, "calls": [QUESTION]},
        {"expect": {"result": "blue"}, "calls": [call("execute_command", command="echo begun; sleep 600")]},
        {"text": "Both done."},
        {"text": "A very long answer. " * 50, "chunkSize": 1, "chunkDelayMs": 20},
        {"text": "I went on."},
        modelInfo={"seesImages": True},
    )
    lines = tmp_path / "lines.jsonl"
    done = subprocess.run(
        ["node", SEED_CLIENT, EXECUTABLE, lines, "serve", "--stdio"],
        cwd=robota.workspace,
        env=clean_environment(robota.home),
        capture_output=True,
        timeout=120,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["code"], seen["mode"], seen["command"], seen["question"]) == (
        0,
        "code",
        "echo one > one.txt",
        "Which?",
    )
    assert (seen["answer"], seen["resumed"]) == ("Both done.", "I went on.")
    assert (robota.workspace / "one.txt").read_text() == "one\n" and not (robota.workspace / "two.txt").exists()
    states = seen["states"]
    assert states[0] == "no_task" and states.count("no_task") == 2 and states[-1] == "idle"
    assert {"running", "streaming", "waiting_for_input", "resumable"} < set(states)
    received = lines_valid_for("line", lines.read_text().splitlines())
    assert received[0]["type"] == "hello"
    assert all("clineMessages" in line["state"] for line in received if line.get("type") == "state")
    assert not any(line.get("type") in ("messageCreated", "textDelta", "partialMessage") for line in received)
    log = next((robota.workspace / ".robota/sessions").glob("*/log.jsonl")).read_text()
    assert "iVBORw0KGgo" in log


def served(robota: Robota, *lines: str, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """What a session sends to a client that sends these lines at once and then nothing more."""
    done = robota("serve", "--stdio", *options, stdin="".join(f"{line}\n" for line in lines))
    assert done.code == 0, done.stderr
    return lines_valid_for("line", done.stdout.splitlines())


def test_what_cannot_be_read_is_answered_and_changes_nothing(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    received = served(
        robota,
        "garbage",
        '"words"',
        "{" * 100_000,
        '{"type":"hello","protocol":"x"}',
        '{"type":"nonsense","requestId":"7"}',
        '{"type":"newTask","requestId":"8"}',
        '{"type":"ping","requestId":"9"}',
        '{"command":"start","prompt":"hello","requestId":"10"}',
    )
    problems = [line["code"] for line in received if line.get("type") == "error"]
    assert problems == ["not_json", "not_an_object", "not_json", "invalid_line"]
    receipts = {line["requestId"]: line for line in received if "receipt" in line}
    assert [(name, each["receipt"]) for name, each in sorted(receipts.items())] == [
        ("10", "accepted"),
        ("7", "refused"),
        ("8", "refused"),
        ("9", "accepted"),
    ]
    assert receipts["7"]["code"] == receipts["8"]["code"] == "unknown_command"
    rows = [line for line in received if line.get("type") == "state"][-1]["state"]["clineMessages"]
    assert [row.get("text") for row in rows if row.get("say") == "text"] == ["hello", "Hello."]


def test_a_client_of_another_version_is_told_so(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    received = served(robota, '{"type":"hello","protocol":99}', '{"type":"newTask","text":"hello"}')
    assert [line["type"] for line in received] == ["hello", "error"]
    assert received[1]["code"] == "unsupported_protocol" and "99" in received[1]["message"]


def test_a_client_that_asks_for_deltas_gets_them_and_a_resumed_session_begins_with_its_offer(robota: Robota) -> None:
    script(robota, {"text": "Some words that come in pieces."})
    hello = '{"type":"hello","protocol":1,"client":"test","events":"deltas"}'
    first = served(robota, hello, '{"type":"newTask","text":"speak"}')
    assert any(line.get("type") == "textDelta" for line in first)
    assert any(line.get("type") == "messageCreated" for line in first)
    again = served(robota, hello, '{"type":"message","text":"go on"}', options=("--resume", first[0]["sessionId"]))
    state = next(line for line in again if line.get("type") == "state")["state"]
    assert state["clineMessages"][-1]["ask"] == "resume_completed_task"
    said = [line["message"].get("text") for line in again if line.get("type") == "messageUpdated"]
    assert "Some words that come in pieces." in said


def test_input_that_ends_may_pause_what_is_running(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="sleep 600")]}, {"text": "Never."})
    lines = ('{"type":"newTask","text":"wait"}',)
    options = ("--at-end", "pause", "--allowed-tools", "Bash(sleep *)", "--events", "rows")
    received = served(robota, *lines, options=options)
    assert received[1]["type"] == "state" or received[2]["type"] == "state"
    assert [line["outcome"] for line in received if line.get("type") == "taskEnded"] in (["interrupted"], [])


def test_several_clients_reach_a_session_at_a_socket_of_the_users_choice(robota: Robota, tmp_path: Path) -> None:
    """However long its path is; what is there already is not touched, unless it is the socket of a dead process."""
    script(robota, {"calls": [call("write_to_file", path="a.txt", content="a\n")]}, {"text": "Written."})
    directory = tmp_path / ("d" * 150)
    directory.mkdir()
    path = directory / "session.sock"
    with socket.socket(socket.AF_UNIX) as dead, contextlib.chdir(directory):
        dead.bind(path.name)
    command = [str(EXECUTABLE), "serve", "--socket", str(path)]
    started: dict[str, Any] = {"cwd": robota.workspace, "env": clean_environment(robota.home), "text": True}
    with subprocess.Popen(command, stdout=subprocess.PIPE, **started) as process:
        assert process.stdout is not None and process.stdout.readline() == f"{path}\n"
        assert path.stat().st_mode & 0o777 == 0o600
        again = subprocess.run(command, stderr=subprocess.PIPE, check=False, **started)
        assert again.returncode == 3 and "another process is reached there" in again.stderr
        first, second = (At(path), At(path))
        first.send({"type": "webviewDidLaunch"}, {"type": "newTask", "text": "write a file"})
        second.send({"type": "hello", "protocol": 1, "client": "second"})
        ts = first.until_ask("tool")["ts"]
        second.send({"type": "askResponse", "askResponse": "yesButtonClicked", "ts": ts})
        first.until_ask("completion_result")
        process.terminate()
        assert process.wait() == 0
    assert (robota.workspace / "a.txt").read_text() == "a\n" and not path.exists()
    path.write_text("mine")
    refused = subprocess.run(command, stderr=subprocess.PIPE, check=False, **started)
    assert refused.returncode == 3 and "no socket" in refused.stderr and path.read_text() == "mine"


class At:
    """A client at a socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        with contextlib.chdir(path.parent):
            self._socket.connect(path.name)
        self._lines = self._socket.makefile()

    def send(self, *lines: dict[str, Any]) -> None:
        self._socket.sendall("".join(json.dumps(line) + "\n" for line in lines).encode())

    def until_ask(self, kind: str) -> dict[str, Any]:
        for line in self._lines:
            read = json.loads(line)
            rows = read["state"]["clineMessages"] if read.get("type") == "state" else []
            if rows and rows[-1].get("ask") == kind:
                row: dict[str, Any] = rows[-1]
                return row
        raise AssertionError(f"the session ended before it asked {kind}")
