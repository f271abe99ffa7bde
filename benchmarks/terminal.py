"""The terminal UI through a real pseudo-terminal: first screen, echo of keys, memory, what it does at rest.

Other agents are measured beside it where they are installed: `pi`, which is known for being quick to start, `codex` and
`claude`.
"""

import os
import pty
import select
import shutil
import statistics
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bench import ROBOTA, Bench
from benchmarks.measurement import Measurement

ROUNDS = 7
KEYS = 100
LONGEST_WAIT_S = 60.0
BETWEEN_KEYS_S = 0.03
# What anything built on these libraries needs before it can show a prompt.
BARE_PROMPT = """
from rich.console import Console
Console().print("[bold]ready[/bold]")
from prompt_toolkit import PromptSession
PromptSession("ask: ").prompt()
"""
# Other agents with the variables that keep them off the network, and the part of their time to a first screen that we
# may take.
PEERS = {
    "pi": ({"PI_OFFLINE": "1", "ANTHROPIC_API_KEY": "unused"}, 0.8),
    "codex": ({"OPENAI_API_KEY": "unused"}, 1.0),
    "claude": ({"ANTHROPIC_API_KEY": "unused", "DISABLE_AUTOUPDATER": "1"}, 1.0),
}
# 20,000 chunks of 16 characters.
CHUNKS = 20_000
FLOOD = "yes 'a line of a program that says much and means little, as programs do' | head -c 50000000"
MOST_FLOODS = 12
QUIET_S = 0.5
AT_REST_S = 3.0
ROWS_A_TURN = 3
FEW_MESSAGES, MANY_MESSAGES = 100, 10_000


class Window:
    """A program in a window of 80 by 24."""

    def __init__(self, command: Sequence[str], bench: Bench, **more: str) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, 80))
        env = {**bench.env, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", **more}
        self.begun = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            cwd=bench.workspace,
            env=env,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def wait_for(self, words: bytes) -> float:
        """Milliseconds from the start until the words have come."""
        seen = b""
        while words not in seen:
            seen += self._read(LONGEST_WAIT_S)
        return (time.perf_counter() - self.begun) * 1000

    def settled(self) -> float:
        """Milliseconds from the start until the screen had come to rest: the last that was written before a pause."""
        self._read(LONGEST_WAIT_S)
        last = time.perf_counter()
        while select.select([self._ours], [], [], QUIET_S)[0]:
            os.read(self._ours, 65536)
            last = time.perf_counter()
        return (last - self.begun) * 1000

    def echo_ms(self, key: bytes) -> float:
        """How long a key takes to appear. What streams has none of these letters in it."""
        begin = time.perf_counter()
        os.write(self._ours, key)
        seen = b""
        while key not in seen:
            seen += self._read(LONGEST_WAIT_S)
        return (time.perf_counter() - begin) * 1000

    def echoes(self, until: bytes | None = None) -> list[float]:
        """The echo of many keys, with pauses in which whatever else comes is read; no more after `until` has come."""
        found = []
        for number in range(KEYS):
            found.append(self.echo_ms(b"QZXJ"[number % 4 : number % 4 + 1]))
            if until is not None and until in self.drain(BETWEEN_KEYS_S):
                break
            self.drain(BETWEEN_KEYS_S)
        return found

    def drain(self, seconds: float) -> bytes:
        """Read for a while; what has come."""
        end = time.perf_counter() + seconds
        seen = b""
        while (left := end - time.perf_counter()) > 0:
            if select.select([self._ours], [], [], left)[0]:
                seen += os.read(self._ours, 65536)
        return seen

    def type_in(self, text: bytes) -> None:
        os.write(self._ours, text)

    def cpu_ms(self) -> float:
        """The processor time that the program has taken so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    @property
    def memory_mb(self) -> float:
        return self._status("VmRSS") / 1024

    @property
    def wake_ups(self) -> int:
        """How often the program has waited for something and was woken."""
        return self._status("voluntary_ctxt_switches")

    def _status(self, name: str) -> int:
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith(name))
        return int(line.split()[1])

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def _read(self, seconds: float) -> bytes:
        if not select.select([self._ours], [], [], seconds)[0]:
            raise TimeoutError("nothing came from the terminal")
        return os.read(self._ours, 65536)


def terminal(bench: Bench) -> list[Measurement]:
    """First screens side by side, then keys and memory while nothing happens and while much does."""
    return [*_first_screens(bench), *_while_an_answer_streams(bench), _while_a_command_floods(bench), _long(bench)]


def _first_screens(bench: Bench) -> list[Measurement]:
    ours: list[float] = []
    bare: list[float] = []
    memory = []
    peers: dict[str, list[float]] = {name: [] for name in PEERS if shutil.which(name) is not None}
    for _ in range(ROUNDS):
        window = Window([ROBOTA], bench)
        ours.append(window.settled())
        memory.append(window.memory_mb)
        window.close()
        bare.append(_settled([sys.executable, "-c", BARE_PROMPT], bench))
        for name, found in peers.items():
            found.append(_settled([name], bench, **PEERS[name][0]))
    rows = [
        _ratio("first screen / bare prompt", ours, bare, 1.5),
        Measurement(
            name="memory at the first screen", value=max(memory), target=60, unit="MB", detail=f"largest of {ROUNDS}"
        ),
    ]
    rows += [_ratio(f"first screen / {name}", ours, found, PEERS[name][1]) for name, found in peers.items()]
    return [*rows, _echo_beside_pi(bench)] if "pi" in peers else rows


def _echo_beside_pi(bench: Bench) -> Measurement:
    """The echo of a key while nothing happens, in turn with pi."""
    found: dict[str, list[float]] = {"ours": [], "pi": []}
    for name, command, env in (("ours", ROBOTA, {}), ("pi", "pi", PEERS["pi"][0])) * 2:
        window = Window([command], bench, **env)
        window.settled()
        found[name] += window.echoes()
        window.close()
    ours, pi = statistics.median(found["ours"]), statistics.median(found["pi"])
    detail = f"{ours:.1f} ms / {pi:.1f} ms, median of {len(found['ours'])}"
    return Measurement(name="echo of a key / pi", value=ours / pi, target=1, unit="x", detail=detail)


def _settled(command: Sequence[str], bench: Bench, **more: str) -> float:
    window = Window(command, bench, **more)
    found = window.settled()
    window.close()
    return found


def _ratio(name: str, ours: Sequence[float], theirs: Sequence[float], target: float) -> Measurement:
    """Of two that were measured in turn. Noise only ever adds, so the quickest of each counts."""
    detail = f"{min(ours):.0f} ms / {min(theirs):.0f} ms, quickest of {len(ours)}"
    return Measurement(name=name, value=min(ours) / min(theirs), target=target, unit="x", detail=detail)


def _while_an_answer_streams(bench: Bench) -> list[Measurement]:
    """The 95th percentile of the echo of a key, idle and while a long answer streams; and what rest costs."""
    words = (f"word{number % 97}" + ("\n\n" if number % 60 == 59 else "") for number in range(CHUNKS * 16 // 7))
    _play(bench, {"text": " ".join(words), "chunkSize": 16, "chunkDelayMs": 1})
    window = Window([ROBOTA], bench)
    window.settled()
    before, woken = window.cpu_ms(), window.wake_ups
    window.drain(AT_REST_S)
    rest, woken = window.cpu_ms() - before, window.wake_ups - woken
    idle = window.echoes()
    window.type_in(b"\x15go\r")
    window.wait_for(b"word")
    streaming = window.echoes()
    memory = window.memory_mb
    window.close()
    return [
        Measurement(
            name="processor time at rest", value=rest, target=20, unit="ms", detail=f"in {AT_REST_S:g} s without a key"
        ),
        Measurement(
            name="wake-ups at rest",
            value=woken,
            target=0,
            unit="",
            detail=f"in {AT_REST_S:g} s: no timer runs",
        ),
        _echo("echo of a key, nothing runs", idle, 16),
        _echo("echo of a key while an answer streams", streaming, 16),
        Measurement(name="memory while it streams", value=memory, target=90, unit="MB", detail="after the last key"),
    ]


def _while_a_command_floods(bench: Bench) -> Measurement:
    call = {"name": "execute_command", "arguments": {"command": FLOOD}}
    _play(bench, {"calls": [call], "repeat": MOST_FLOODS}, {"text": "It has ended."})
    window = Window([ROBOTA, "--permission-mode", "bypassPermissions"], bench)
    window.settled()
    window.type_in(b"go\r")
    window.wait_for(b"a line of a program")
    found = window.echoes(until=b"It has ended.")
    window.close()
    return _echo("echo of a key while commands print 50 MB each", found, 16)


def _long(bench: Bench) -> Measurement:
    """Memory after a task of many messages beside that after one of few."""
    memory = {}
    for messages in (FEW_MESSAGES, MANY_MESSAGES):
        turns = messages // ROWS_A_TURN
        look = {"name": "glob", "arguments": {"pattern": "no-{n}"}}
        step = {"text": "Step {n} is to look once more.", "calls": [look], "repeat": turns}
        _play(bench, step, {"text": "It has ended."})
        window = Window([ROBOTA, "--permission-mode", "bypassPermissions", "--max-turns", str(turns + 1)], bench)
        window.settled()
        window.type_in(b"go\r")
        window.wait_for(b"It has ended.")
        window.drain(QUIET_S)
        memory[messages] = window.memory_mb
        window.close()
    few, many = memory[FEW_MESSAGES], memory[MANY_MESSAGES]
    detail = f"{many:.0f} MB / {few:.0f} MB, {MANY_MESSAGES:,} messages and {FEW_MESSAGES}"
    return Measurement(name="memory of a long conversation", value=many / few, target=1.3, unit="x", detail=detail)


def _play(bench: Bench, *turns: dict[str, object]) -> None:
    bench.use({"type": "scripted", "model": "scripted", "options": {"turns": list(turns)}})


def _echo(name: str, found: Sequence[float], target: float) -> Measurement:
    slow = sorted(found)[int(len(found) * 0.95)]
    detail = f"95th percentile of {len(found)}; median {statistics.median(found):.1f} ms"
    return Measurement(name=name, value=slow, target=target, unit="ms", detail=detail)
