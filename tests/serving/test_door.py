"""The door of a running session: who gets in, who does not, and what windows on it can do."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.protocol.commands import NewTask
from robota.serving.door import open_door
from robota.serving.switching import launch_again
from robota.transport.doors import remove_dead_door
from robota.transport.entering import enter
from tests.cli.scripts import call, script
from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.harness.terminal import Terminal

# Connects to every door as a process that has left its parents, its session and its group behind.
INTRUDER = """
import glob, os, socket, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
directory, out = sys.argv[1:]
os.chdir(directory)
said = b""
for name in glob.glob("*.sock"):
    door = socket.socket(socket.AF_UNIX)
    door.connect(name)
    for _ in range(300):
        other = socket.socket(socket.AF_UNIX)
        other.connect(name)
        other.close()
    try: door.sendall(b'{"type":"askResponse","askResponse":"yesButtonClicked"}\\n')
    except OSError: pass
    while piece := door.recv(65536): said += piece
with open(out + ".new", "wb") as file: file.write(said)
os.rename(out + ".new", out)
"""


class Served:
    """A session in a process of its own, driven over its standard streams."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None and process.stdout is not None
        self._stdin: IO[str] = process.stdin
        self._stdout: IO[str] = process.stdout
        self.process = process
        self.hello = json.loads(self._stdout.readline())
        self.id: str = self.hello["sessionId"]

    def send(self, **line: Any) -> None:
        self._stdin.write(json.dumps(line) + "\n")
        self._stdin.flush()

    def until_ask(self, kind: str) -> dict[str, Any]:
        """Read until the last message is this ask."""
        for line in self._stdout:
            read = json.loads(line)
            rows = read["state"]["clineMessages"] if read.get("type") == "state" else []
            if rows and rows[-1].get("ask") == kind:
                last: dict[str, Any] = rows[-1]
                return last
        raise AssertionError(f"the session ended before it asked {kind}")


@contextmanager
def serving(robota: Robota, *options: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [EXECUTABLE, "serve", "--stdio", *options],
        cwd=robota.workspace,
        env=clean_environment(robota.home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Served(process)
    finally:
        process.kill()
        process.wait()


def doors(robota: Robota) -> Path:
    return robota.home / ".robota/run"


def log_of(robota: Robota, session: str) -> str:
    return (robota.workspace / ".robota/sessions" / session / "log.jsonl").read_text()


def answers_in(log: str) -> list[dict[str, Any]]:
    """The recorded answers to asks."""
    records = map(json.loads, log.splitlines())
    return [record["payload"] for record in records if record["kind"] == "answer"]


def test_a_running_session_is_listed_answered_and_stopped_from_elsewhere(robota: Robota) -> None:
    script(robota, {"calls": [call("write_to_file", path="a.txt", content="a\n")]}, {"text": "Written."})
    with serving(robota) as session:
        session.send(type="newTask", text="write a file")
        ask = session.until_ask("tool")
        door = doors(robota) / f"{session.id}.sock"
        assert door.stat().st_mode & 0o777 == 0o600 and door.parent.stat().st_mode & 0o777 == 0o700
        [listed] = json.loads(robota("ps", "--json").stdout)
        assert (listed["sessionId"], listed["pid"]) == (session.id, session.process.pid)
        assert listed["state"]["state"] == "waiting_for_input" and listed["ask"]["ts"] == ask["ts"]
        assert listed["controls"]["primary"]["text"] == "Approve"
        assert (listed["cost"], listed["waitingSinceMs"], listed["action"]) == (0, ask["ts"], "")
        assert "needs approval since" in robota("ps").stdout
        [question] = json.loads(robota("inbox", "--json").stdout)
        assert (question["sessionId"], question["ask"]["ts"]) == (session.id, ask["ts"])
        state = json.loads(robota("state", session.id, "--json").stdout)
        assert state["state"]["state"] == "waiting_for_input" and state["pid"] == session.process.pid
        assert state["answers"] == question["answers"] and state["answers"][0]["command"].endswith(" yes")
        assert f"robota answer {session.id} yes" in robota("inbox").stdout
        answered = robota("answer", session.id[:13], "yes")
        assert (answered.code, session.id in answered.stdout) == (0, True), answered
        session.until_ask("completion_result")
        assert "asks anything" in robota("inbox").stdout and "  idle since" in robota("ps").stdout
        late = robota("answer", session.id, "--json", json.dumps({"askResponse": "yesButtonClicked", "ts": ask["ts"]}))
        assert late.code == 1 and "not pending" in late.stderr
        stopped = robota("stop", session.id)
        assert stopped.code == 0 and session.process.wait() == 0, stopped
    assert (robota.workspace / "a.txt").read_text() == "a\n"
    assert not door.exists() and json.loads(robota("ps", "--json").stdout) == []
    [answer] = answers_in(log_of(robota, session.id))
    assert (answer["ts"], answer["by"]["client"]) == (ask["ts"], "robota answer") and answer["by"]["pid"] > 0


@pytest.mark.parametrize("how", ["command", "hook"])
def test_nothing_that_a_session_starts_can_answer_it(robota: Robota, tmp_path: Path, how: str) -> None:
    """Not even a process without parents, outside the sandbox, which a command of an approved call has left behind."""
    said = tmp_path / "said"
    (tmp_path / "attack.py").write_text(INTRUDER)
    attack = f"{sys.executable} {tmp_path}/attack.py {doors(robota)} {said}"
    (tmp_path / "attack.sh").write_text(f"{attack}\nwhile [ ! -e {said} ]; do sleep 0.05; done\n")
    turns = [
        {"calls": [call("execute_command", command=f"sh {tmp_path}/attack.sh")]},
        {"calls": [call("write_to_file", path="a.txt", content="a\n")]},
    ]
    script(robota, *turns, {"text": "Done."})
    settings = robota.home / ".robota/settings.json"
    changed: dict[str, Any] = {"sandbox": {"enabled": False}}
    if how == "hook":
        commands = {"type": "command", "command": f"sh {tmp_path}/attack.sh"}
        changed["hooks"] = {"PreToolUse": [{"matcher": "Write", "hooks": [commands]}]}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **changed}))
    with serving(robota) as session:
        session.send(type="newTask", text="attack")
        session.until_ask("command")
        session.send(type="askResponse", askResponse="noButtonClicked" if how == "hook" else "yesButtonClicked")
        ask = session.until_ask("tool")
        [listed] = json.loads(robota("ps", "--json").stdout)
        assert listed["ask"]["ts"] == ask["ts"]
        assert not (robota.workspace / "a.txt").exists()
    answer = json.loads(said.read_bytes())
    assert answer["code"] == "not_let_in" and "started by an agent" in answer["message"]
    assert log_of(robota, session.id).count('"kind":"clientRefused"') == 100  # of 301


def test_commands_without_a_conversation_are_marked_too(robota: Robota, tmp_path: Path) -> None:
    script(robota, {"text": "Hello."})
    settings = robota.home / ".robota/settings.json"
    limits = {"type": "command", "command": f"cat /proc/self/limits > {tmp_path}/limits; exit 1"}
    hooks = {"WorktreeCreate": [{"hooks": [limits]}]}
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "hooks": hooks}))
    subprocess.run(["git", "init", "-q"], cwd=robota.workspace, check=True)
    wanted = json.dumps({"command": "cat /proc/self/limits"})
    ran = robota("tool", "run", "execute_command", wanted, "--allowed-tools", "Bash")
    robota("-p", "hello", "--worktree", "other")
    for seen in (ran.stdout, (tmp_path / "limits").read_text()):
        [locks] = [line for line in seen.splitlines() if line.startswith("Max file locks")]
        assert "unlimited" not in locks


def test_a_mark_survives_forks_sessions_and_the_end_of_parents_and_cannot_be_removed(tmp_path: Path) -> None:
    """A process without privileges can only lower the limit, and a lower one counts, too."""
    code = """
import os, resource, sys
from robota.workspace.agent_mark import LOCKS, is_marked, mark_this_process
mark_this_process()
def child():
    os.setsid()
    if os.geteuid() == 0: os.setuid(65534)
    try: resource.setrlimit(LOCKS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); raised = True
    except ValueError: raised = False
    os.write(1, f"{raised} {is_marked(os.getpid())}".encode())
    resource.setrlimit(LOCKS, (5, 5))
    os.write(1, f" {is_marked(os.getpid())}".encode())
if not os.fork():
    if not os.fork(): child()
    os._exit(0)
os.wait()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"False True True", done
    assert os.getpid() and not _is_marked_here()


# A session whose leader has ended: a program that runs agents, and, if asked for, an ordinary one.
LEADERLESS = """
import os, sys
from robota.workspace.agent_mark import mark_this_process
os.setsid()
if os.fork(): os._exit(0)
if sys.argv[1] == "beside" and not os.fork():
    sys.stdin.read()
    os._exit(0)
mark_this_process()
print(os.getpid(), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("other", "of_agent"), [("beside", False), ("none", True)])
def test_a_program_is_the_users_own_beside_an_ordinary_one_though_their_session_has_no_leader(
    other: str, of_agent: bool
) -> None:
    """As in a service, or after a terminal was closed."""
    command = [sys.executable, "-c", LEADERLESS, other]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as leader:
        assert leader.stdout is not None and leader.wait() == 0
        program = int(leader.stdout.readline())
        code = f"from robota.workspace.agent_mark import is_of_agent; print(is_of_agent({program}))"
        judged = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert judged.stdout == f"{of_agent}\n"


def test_who_is_not_let_in_is_told_why_and_not_that_nothing_runs(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    with serving(robota) as session:
        code = (
            "import asyncio, sys; from pathlib import Path; from robota import sdk;"
            "from robota.workspace.agent_mark import mark_this_process; mark_this_process();"
            f"window = sdk.attach_session({session.id!r}, env=dict(HOME={str(robota.home)!r}));"
            "asyncio.run(window.__aenter__())"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, start_new_session=True
        )
    assert done.returncode == 1 and "it was started by an agent of Robota" in done.stderr, done.stderr


def _is_marked_here() -> bool:
    code = "import os; from robota.workspace.agent_mark import is_marked; print(is_marked(os.getppid()))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"True\n"


def test_doors_of_dead_processes_are_removed_and_a_file_in_their_place_harms_nobody(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    with serving(robota) as first:
        pass
    assert (doors(robota) / f"{first.id}.sock").exists()
    (doors(robota) / "stranger.sock").write_text("no socket")
    assert json.loads(robota("ps", "--json").stdout) == []
    assert not (doors(robota) / f"{first.id}.sock").exists()
    left = robota("answer", first.id, "yes")
    assert "not running" not in left.stderr  # it is a stored session again
    with serving(robota, "--resume", first.id) as again:
        assert [each["sessionId"] for each in json.loads(robota("ps", "--json").stdout)] == [again.id]


def test_a_session_without_a_door_says_so_and_goes_on(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    doors(robota).mkdir(parents=True)
    doors(robota).chmod(0o755)
    done = robota("serve", "--stdio", stdin='{"type":"newTask","text":"hello"}\n')
    assert done.code == 0 and "Hello." in done.stdout and "cannot reach this session" in done.stderr


def test_two_windows_see_the_same_and_the_first_answer_wins(robota: Robota) -> None:
    script(robota, {"calls": [call("write_to_file", path="a.txt", content="a\n")]}, {"text": "Written."})
    with serving(robota) as session:
        session.send(type="newTask", text="write a file")
        ask = session.until_ask("tool")
        reply = {"type": "askResponse", "ts": ask["ts"], "requestId": "1"}
        hello = {"type": "hello", "protocol": 1, "client": "window"}
        lines = [hello, {**reply, "askResponse": "yesButtonClicked"}]
        window = robota("attach", "--json", stdin="".join(json.dumps(line) + "\n" for line in lines))
        session.send(**reply, askResponse="noButtonClicked")
        session.until_ask("completion_result")
    seen = [json.loads(line) for line in window.stdout.splitlines()]
    assert (seen[0]["type"], seen[0]["sessionId"]) == ("hello", session.id), window.stderr
    assert any(line.get("requestId") == "1" and line["receipt"] == "accepted" for line in seen)
    assert (robota.workspace / "a.txt").exists()


def test_a_window_shows_the_conversation_answers_runs_commands_and_leaves_the_session_running(robota: Robota) -> None:
    first = {"text": "I write.", "calls": [call("write_to_file", path="a.txt", content="a\n")]}
    script(robota, first, {"text": "Written."}, {"text": "You asked more."})
    with serving(robota) as session:
        session.send(type="newTask", text="write a file")
        session.until_ask("tool")
        with Terminal(robota, "attach", "--plain") as window:
            window.wait_for("I write.")
            window.wait_for("a.txt")
            window.answer("> ", "y")
            window.wait_for("Written.")
            window.answer("> ", "/rewind")
            window.wait_for("write a file")
            window.answer("> ", "more")
            window.wait_for("You asked more.")
            window.answer("> ", "/exit")
            window.wait_for("To come back: robota attach")
            assert window.end() == 0
        assert [each["sessionId"] for each in json.loads(robota("ps", "--json").stdout)] == [session.id]
    assert (robota.workspace / "a.txt").read_text() == "a\n"


def test_a_door_of_the_next_process_outlives_that_of_the_one_before(robota: Robota) -> None:
    """A process whose clients do not read takes a while to end, when another runs the session already."""
    script(robota, {"text": "Hello."})
    env = clean_environment(robota.home)

    async def run() -> None:
        first = open_session(LaunchOptions(cwd=robota.workspace, session_id="chosen"), env)
        async with open_door(first, env, print) as before:
            await first.session.submit(NewTask(text="hello"))
            await first.close()
            again = open_session(launch_again(LaunchOptions(cwd=robota.workspace), first.log.path.parent), env)
            async with open_door(again, env, print):
                assert before is not None
                await before.close()
                remove_dead_door(doors(robota), "chosen")
                session, hello = await enter(doors(robota), "chosen", "test")
                assert hello.session_id == "chosen"
                await session.close()
                await again.close()
        assert not any(doors(robota).iterdir())

    asyncio.run(run())
