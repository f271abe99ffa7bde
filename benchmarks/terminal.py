"""The terminal UI through a real pseudo-terminal: first screen, echo of keys, memory."""

import os
import pty
import select
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
WORDS = 60_000


class Window:
    """A program in a window of 80 by 24."""

    def __init__(self, command: Sequence[str], bench: Bench) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, 80))
        env = {**bench.env, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1"}
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

    def echo_ms(self, key: bytes) -> float:
        """How long a key takes to appear. What streams has none of these letters in it."""
        begin = time.perf_counter()
        os.write(self._ours, key)
        seen = b""
        while key not in seen:
            seen += self._read(LONGEST_WAIT_S)
        return (time.perf_counter() - begin) * 1000

    def echoes(self) -> list[float]:
        """The echo of many keys, with pauses in which whatever else comes is read."""
        found = []
        for number in range(KEYS):
            found.append(self.echo_ms(b"QZXJ"[number % 4 : number % 4 + 1]))
            self.drain(BETWEEN_KEYS_S)
        return found

    def drain(self, seconds: float) -> None:
        """Read for a while."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            if select.select([self._ours], [], [], left)[0]:
                os.read(self._ours, 65536)

    def type_in(self, text: bytes) -> None:
        os.write(self._ours, text)

    @property
    def memory_mb(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def _read(self, seconds: float) -> bytes:
        if not select.select([self._ours], [], [], seconds)[0]:
            raise TimeoutError("nothing came from the terminal")
        return os.read(self._ours, 65536)


def terminal(bench: Bench) -> list[Measurement]:
    """First screens side by side, then keys while nothing happens and while an answer streams."""
    screens, memory, bare = [], [], []
    for _ in range(ROUNDS):
        window = Window([ROBOTA], bench)
        screens.append(window.wait_for(b"Idle"))
        memory.append(window.memory_mb)
        window.close()
        prompt = Window([sys.executable, "-c", BARE_PROMPT], bench)
        bare.append(prompt.wait_for(b"ask:"))
        prompt.close()
    ours, least = statistics.median(screens), statistics.median(bare)
    detail = f"{ours:.0f} ms / {least:.0f} ms, medians of {ROUNDS}"
    return [
        Measurement(name="first screen / bare prompt", value=ours / least, target=1.5, unit="x", detail=detail),
        Measurement(
            name="memory at the first screen", value=max(memory), target=60, unit="MB", detail=f"largest of {ROUNDS}"
        ),
        *echoes(bench),
    ]


def echoes(bench: Bench) -> list[Measurement]:
    """The 95th percentile of the echo of a key, idle and while a long answer streams."""
    text = " ".join(f"word{number % 97}" + ("\n\n" if number % 60 == 59 else "") for number in range(WORDS))
    script = {"turns": [{"text": text, "chunkSize": 16, "chunkDelayMs": 1}]}
    bench.use({"type": "scripted", "model": "scripted", "options": script})
    window = Window([ROBOTA], bench)
    window.wait_for(b"Idle")
    window.drain(0.5)
    idle = window.echoes()
    window.type_in(b"\x15go\r")
    window.wait_for(b"word")
    streaming = window.echoes()
    memory = window.memory_mb
    window.close()
    return [
        _echo("echo of a key, nothing runs", idle, 16),
        _echo("echo of a key while an answer streams", streaming, 16),
        Measurement(name="memory while it streams", value=memory, target=90, unit="MB", detail="after the last key"),
    ]


def _echo(name: str, found: Sequence[float], target: float) -> Measurement:
    slow = sorted(found)[int(len(found) * 0.95)]
    detail = f"95th percentile of {len(found)}; median {statistics.median(found):.1f} ms"
    return Measurement(name=name, value=slow, target=target, unit="ms", detail=detail)
