"""What a process is killed in, and what must hold when the session is taken up afterwards."""

import json
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from robota.log.chain.reader import LOG_NAME, load
from robota.log.chain.verify import verify
from robota.log.replay.session import replay
from tests.cli.scripts import call, script, write_settings
from tests.fuzz.kill.strict_server import LAST_WORDS, MOST_REQUESTS, StrictServer, serving
from tests.harness.cli import Finished, Robota, clean_environment
from tests.harness.terminal import Terminal
from tests.log.catalogue.logs import Written, note_as_own
from tests.workspace.checkpoints.trees import Tree, tree_of

DYING = Path(__file__).with_name("dying.py")
FREELY = ("--permission-mode", "acceptEdits", "--allowed-tools", "Bash(*)")
CHANGES = "echo 2 > a.txt; chmod 755 mode; rm gone; ln -sfn mode link; mkdir -p d/e; echo 1 > d/e/new; echo 2 > x.out"


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a process ended: after so many points, the last of them, and what it had printed."""

    points: int
    last: str
    is_killed: bool
    stdout: str


class Story(ABC):
    """A workspace in which one process is killed."""

    arguments: tuple[str, ...]

    def __init__(self, robota: Robota, seed: int) -> None:
        self.robota = robota
        self.seed = seed
        self.stack = ExitStack()
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Make what is there before."""

    @abstractmethod
    def check(self, ended: Ended) -> str:
        """Assert what must hold after the kill. Says what it was killed in."""

    def run(self, point: int) -> Ended:
        """Run the process until that point; 0 is its end."""
        note = self.robota.home / "note"
        command = [sys.executable, "-P", str(DYING), str(note), str(point), *self.arguments]
        done = subprocess.run(
            command,
            cwd=self.robota.workspace,
            env={**clean_environment(self.robota.home), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        points, last = json.loads(note.read_bytes())
        return Ended(points=points, last=last, is_killed=done.returncode == -9, stdout=done.stdout.decode())

    def logs(self) -> list[Path]:
        """The logs of the sessions there are, the oldest first."""
        return sorted((self.robota.workspace / ".robota/sessions").glob("*/" + LOG_NAME))

    def log(self) -> Path | None:
        return next(iter(self.logs()), None)

    def are_sound(self) -> bool:
        return all(verify(log).broken is None for log in self.logs())


class Working(Story):
    """A conversation of replies, calls of all kinds, condensations and checkpoints."""

    arguments: tuple[str, ...] = ("-p", "work on it", "--output-format", "messages", *FREELY)

    def prepare(self) -> None:
        (self.robota.workspace / "a.txt").write_text("alpha\n")
        self.server = self.stack.enter_context(serving(StrictServer(self.seed)))
        profile = {"type": "openai-compatible", "model": "strict", "baseURL": self.server.url, "apiKey": "k"}
        settings = {
            "currentProvider": "strict",
            "providers": {"strict": profile},
            # Small enough that the conversation is condensed now and then.
            "models": {"strict": {"contextWindow": 12000, "maxOutputTokens": 1000}},
        }
        write_settings(self.robota, settings)

    def check(self, ended: Ended) -> str:
        log, killed_in = self.log(), self.killed_in(ended)
        # One in which nobody has said anything yet is not gone on with.
        task = None if log is None else replay(load(log).records).root
        is_begun = task is not None and len(task.messages) > 0
        self.go_on()
        assert self.server.refusals == []
        assert not is_begun or (self.logs() == [log] and self.are_sound())
        assert missing_rows(log, ended.stdout) == []
        return killed_in

    def go_on(self) -> None:
        done = self.robota("-c", "-p", LAST_WORDS, "--output-format", "json", *FREELY)
        assert done.code == 0 and json.loads(done.stdout)["is_error"] is False, done

    def killed_in(self, ended: Ended) -> str:
        log = self.log()
        if log is None:
            return "start"
        if "checkpoints" in ended.last or "git" in ended.last:
            return "checkpointing"
        records = load(log).records
        task = replay(records).root
        last = task.messages[-1] if task is not None and task.messages else None
        if last is not None and (last.say or "").startswith("condense"):
            return "condensing"
        kinds = [record.kind for record in records]
        return "tool run" if kinds.count("toolStart") > kinds.count("toolEnd") else "streaming"


class Waiting(Working):
    """A conversation at a terminal in which calls wait for a yes. Point N is the N-th of them, before or after it."""

    arguments = ("work on it",)
    most_asks = 3

    def run(self, point: int) -> Ended:
        if not point:
            return Ended(points=self.most_asks, last="", is_killed=False, stdout="")
        with Terminal(self.robota, *self.arguments) as terminal:
            for number in range(1, point + 1):
                terminal.wait_for("\n> ")
                if number < point or self.seed % 3 == 0:
                    self.say_yes(terminal)
            terminal.send(signal.SIGKILL)
            return Ended(points=point, last="ask", is_killed=terminal.end() == -signal.SIGKILL, stdout="")

    def say_yes(self, terminal: Terminal) -> None:
        asked = self.asked()
        terminal.press("y\n")
        terminal.wait_until(lambda: self.asked() != asked)

    def asked(self) -> int | None:
        """The row of an approval, or of what to do when all is done, if it is the last thing in the log."""
        log = self.log()
        task = None if log is None else replay(load(log).records).root
        return None if task is None or task.waiting_ask is None else task.waiting_ask.ts

    def go_on(self) -> None:
        log = self.log()
        assert log is not None
        state = json.loads(ok(self.robota("state", log.parent.name, "--json")))
        if state["ask"] is None or state["ask"]["ask"] not in ("tool", "command"):
            super().go_on()
            return
        self.server.requests = MOST_REQUESTS  # the model has only its last words left
        answered = self.robota("answer", log.parent.name, "yes", "--output-format", "json")
        assert answered.code == 0, answered

    def killed_in(self, ended: Ended) -> str:
        return "pending approval" if self.asked() is not None else "an approval just given"


class Condensing(Working):
    """`/compact` in a session that was left: it is taken up, a summary is asked for and put in place."""

    arguments = ("-c", "-p", "/compact")

    def prepare(self) -> None:
        super().prepare()
        self.server.requests = MOST_REQUESTS - 4
        ok(self.robota("-p", "work on it", "--output-format", "json", *FREELY))
        self.rows = self.told()

    def told(self) -> dict[int, str | None]:
        """What a user can read of the conversation."""
        log = self.log()
        task = None if log is None else replay(load(log).records).root
        return {} if task is None else {row.ts: row.text for row in task.messages if row.ask is None}

    def check(self, ended: Ended) -> str:
        kept = self.told()
        assert {ts: kept.get(ts) for ts in self.rows} == self.rows
        self.go_on()
        assert self.server.refusals == []
        assert self.are_sound() and len(self.logs()) == 1
        return "condensing"


class Restoring(Story):
    """`robota rewind restore`, of contents, modes, links and directories."""

    arguments = ("rewind", "restore", "1", "--yes")

    def prepare(self) -> None:
        place = self.robota.workspace
        (place / ".gitignore").write_text("*.out\n")
        for name in ("a.txt", "mode", "gone", "x.out"):
            (place / name).write_text("1\n")
        (place / "link").symlink_to("a.txt")
        self.old = self.files()
        script(self.robota, {"calls": [call("execute_command", command=CHANGES)]}, {"text": "done"})
        ok(self.robota("-p", "change it", *FREELY))
        self.new = self.files()
        assert self.old != self.new

    def files(self) -> Tree:
        found = tree_of(self.robota.workspace)
        return {path: file for path, file in found.items() if not path.startswith(b".robota/")}

    def check(self, ended: Ended) -> str:
        [point] = json.loads(ok(self.robota("rewind", "list", "--json")))["prompts"]
        assert self.files() in (self.old, self.new)
        assert point.get("isLive", True) or self.files() == self.old, "the conversation goes back only after the files"
        if self.files() == self.old:
            ok(self.robota("rewind", "undo", "--yes"))
            assert self.files() == self.new
        ok(self.robota(*self.arguments))
        assert self.files() == self.old
        script(self.robota, {"text": "Here again."})
        assert "Here again." in ok(self.robota("-c", "-p", "again"))
        assert self.are_sound()
        return "restoring"


class Indexing(Story):
    """`robota sessions search` and `list`, which bring their indexes up to date."""

    def prepare(self) -> None:
        self.arguments = ("sessions", "search", "needle") if self.seed % 2 else ("sessions", "list")
        self.names = {f"s{number}" for number in range(5)}
        for name in self.names:
            Written(self.robota.workspace, name).prompt(f"{name} needle").reply("So it is.").end()
        note_as_own(self.robota.home / ".robota", [self.log_of(name).parent for name in self.names])

    def log_of(self, name: str) -> Path:
        return self.robota.workspace / ".robota/sessions" / name / LOG_NAME

    def check(self, ended: Ended) -> str:
        for action in (("search", "needle"), ("list",)):
            found = json.loads(ok(self.robota("sessions", *action, "--json")))
            assert {each["id"] for each in found} == self.names
        return "indexing"


def ok(done: Finished) -> str:
    """What it printed, if it went well."""
    assert done.code == 0, done
    return done.stdout


def missing_rows(log: Path | None, printed: str) -> list[dict[str, Any]]:
    """The rows that a user was shown as complete and that are not in the log. The last line may be cut off."""
    rows = [json.loads(line) for line in printed.splitlines(keepends=True) if line.endswith("\n")]
    if log is None:
        return rows
    task = replay(load(log).records).root
    kept = {} if task is None else {row.ts: row.text or "" for row in task.messages}
    return [row for row in rows if not kept.get(row["ts"], "\0").startswith(row.get("text") or "")]


STORIES: tuple[type[Story], ...] = (Working, Waiting, Condensing, Working, Restoring, Working, Indexing, Working)
