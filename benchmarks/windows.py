"""What windows on running sessions cost: the session, its other clients, and those who wait for them."""

import contextlib
import json
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import IO, Any

from benchmarks.bench import MOST_TURNS, ROBOTA, Bench
from benchmarks.measurement import Measurement
from benchmarks.terminal import Window
from tests.log.catalogue.logs import Written, note_as_own

WINDOWS = 50
STALLED = 5
CHUNKS = 2_000
# So that chunks come one by one, as those of a quick model do. What comes at once is joined, and costs windows nothing.
CHUNK_EVERY_MS = 5
ROUNDS = 3
OPENED = 7
PACED = 300
FREELY = ("--permission-mode", "bypassPermissions", "--max-turns", MOST_TURNS)
HELLO = b'{"type":"hello","protocol":1,"client":"benchmark","events":"deltas"}\n'
END = "these are the very last words"
# Follows a session from another process and prints when each event came.
FOLLOWER = """
import asyncio, json, sys, time
from pathlib import Path
from robota.protocol.events import SubscriptionEnded, TaskCompleted, TextDelta
from robota.transport.entering import enter
async def follow():
    session, _ = await enter(Path(sys.argv[1]), sys.argv[2], "benchmark")
    times = {}
    async for event in session.events():
        if not times: print("here", flush=True)
        times[event.seq] = time.monotonic()
        if isinstance(event, TaskCompleted): break
    await session.close()
    print(json.dumps(times), flush=True)
asyncio.run(follow())
"""
# Runs a session, follows it here, and prints when each event came.
HOST = """
import asyncio, json, sys, time
from robota.protocol.commands import NewTask
from robota.protocol.connection.known_session import SessionStart
from robota.protocol.events import TaskCompleted
from robota.serving.session_host import SessionHost
async def host():
    sessions = SessionHost()
    window = await sessions.open(SessionStart(cwd=sys.argv[1]))
    print(window.hello.session_id, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    events, times = window.session.events(), {}
    await window.session.submit(NewTask(text="go"))
    async for event in events:
        times[event.seq] = time.monotonic()
        if isinstance(event, TaskCompleted): break
    await asyncio.to_thread(sys.stdin.readline)
    await sessions.close_all()
    print(json.dumps(times), flush=True)
asyncio.run(host())
"""


def windows(bench: Bench) -> list[Measurement]:
    return [_many(bench), _later(bench), _attached(bench), _detached(bench)]


def _many(bench: Bench) -> Measurement:
    """CPU time of the process of the session, less what it takes to start and to answer shortly."""
    alone, watched = [], []
    for _ in range(ROUNDS):
        alone.append(_streamed(bench, 0))
        watched.append(_streamed(bench, WINDOWS))
    few, many = (min(times) * 1e6 / CHUNKS for times in (alone, watched))
    name = f"cost of a streamed chunk with {WINDOWS} windows, {STALLED} of them stalled / with none"
    detail = f"{many:.1f} µs / {few:.1f} µs over {CHUNKS} chunks {CHUNK_EVERY_MS} ms apart, quickest of {ROUNDS}"
    return Measurement(name=name, value=many / few, target=1.5, unit="x", detail=detail)


def _streamed(bench: Bench, count: int) -> float:
    """Seconds of CPU for a long answer."""
    bench.play(f"stream:{CHUNKS}", CHUNK_EVERY_MS)
    with _serving(bench) as (process, output), _watching(bench, _session_of(output), count):
        before = _cpu_s(process.pid)
        _tell(process, {"type": "newTask", "text": "go"})
        for line in output:
            if b'"taskCompleted"' in line:
                break
        return _cpu_s(process.pid) - before


@contextlib.contextmanager
def _serving(bench: Bench, *options: str) -> "Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]":
    command = [ROBOTA, "serve", "--stdio", "--events", "rows", *options, *(() if "--resume" in options else FREELY)]
    with subprocess.Popen(
        command, cwd=bench.workspace, env=bench.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout
        finally:
            process.kill()


def _session_of(output: IO[bytes]) -> str:
    return str(json.loads(output.readline())["sessionId"])


def _tell(process: "subprocess.Popen[bytes]", line: object) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(line).encode() + b"\n")
    process.stdin.flush()


@contextlib.contextmanager
def _watching(bench: Bench, session_id: str, count: int) -> Iterator[None]:
    """So many windows that are read by a thread, but for a few that nobody reads."""
    doors = [socket.socket(socket.AF_UNIX) for _ in range(count)]
    with selectors.DefaultSelector() as selector:
        for number, door in enumerate(doors):
            door.connect(str(bench.home / ".robota/run" / f"{session_id}.sock"))
            door.sendall(HELLO)
            assert b'"type":"hello"' in door.recv(1 << 20)
            if number >= STALLED:
                selector.register(door, selectors.EVENT_READ)
        reading = Thread(target=_read_all, args=(selector,), daemon=True)
        reading.start()
        try:
            yield
        finally:
            for door in doors:
                door.shutdown(socket.SHUT_RDWR)
            reading.join()
            for door in doors:
                door.close()


def _read_all(selector: selectors.BaseSelector) -> None:
    while selector.get_map():
        for key, _ in selector.select():
            door = key.fileobj
            if isinstance(door, socket.socket) and not door.recv(1 << 20):
                selector.unregister(door)


def _cpu_s(pid: int) -> float:
    fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _later(bench: Bench) -> Measurement:
    """How much later an event comes to a client of another process than to one of the process of the session."""
    answer = {"text": "word " * PACED, "chunkSize": 5, "chunkDelayMs": 10}
    bench.use({"type": "scripted", "model": "scripted", "options": {"turns": [answer]}})
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": bench.env, "text": True}
    doors = str(bench.home / ".robota/run")
    with subprocess.Popen([sys.executable, "-c", HOST, str(bench.workspace)], **pipes) as host:
        assert host.stdout is not None and host.stdin is not None
        session_id = host.stdout.readline().strip()
        with subprocess.Popen([sys.executable, "-c", FOLLOWER, doors, session_id], **pipes) as follower:
            assert follower.stdout is not None
            follower.stdout.readline()
            print(file=host.stdin, flush=True)
            far = json.loads(follower.stdout.readline())
        print(file=host.stdin, flush=True)
        near = json.loads(host.stdout.readline())
    later = sorted((far[seq] - near[seq]) * 1000 for seq in far if seq in near)
    value, most = statistics.median(later), later[len(later) * 95 // 100]
    detail = f"median of {len(later)} events, a chunk each 10 ms; 95 % within {most:.2f} ms"
    return Measurement(
        name="an event in another process, later than here", value=value, target=1, unit="ms", detail=detail
    )


def _attached(bench: Bench) -> Measurement:
    """Until the end of the conversation is on the screen: of a running session, and of one that is resumed."""
    bench.use({"type": "scripted", "model": "scripted", "options": {"turns": []}})
    directories = [_session(bench.workspace, name) for name in ("running", "resumed")]
    note_as_own(bench.home / ".robota", directories)
    attached: list[float] = []
    resumed: list[float] = []
    with _serving(bench, "--resume", "running") as (_, output):
        output.readline()
        for _ in range(OPENED):
            for took, command in ((attached, ("attach", "running")), (resumed, ("--resume", "resumed"))):
                window = Window([ROBOTA, *command], bench)
                took.append(window.wait_for(END.encode()))
                window.close()
    mine, least = min(attached), min(resumed)
    detail = f"{mine:.0f} ms / {least:.0f} ms until its end is shown, quickest of {OPENED}"
    return Measurement(name="attach / resume", value=mine / least, target=1.15, unit="x", detail=detail)


def _session(root: Path, name: str) -> Path:
    written = Written(root, name)
    for number in range(20):
        written.prompt(f"{number} a question").reply("an answer that is a little longer")
    written.reply(END).end()
    return written.directory


def _detached(bench: Bench) -> Measurement:
    """Until --detach returns, and until the first request of -p comes to the model."""
    detached, first = [], []
    bench.use({"type": "openai-compatible", "baseURL": f"{bench.server}/v1", "model": "fake-model"})
    for _ in range(OPENED):
        bench.play("hello")
        begun = time.monotonic()
        bench.robota("--detach", "Go.")
        detached.append(time.monotonic() - begun)
        _stop_all(bench)
        bench.play("hello")
        begun = time.monotonic()
        bench.robota("-p", "Go.")
        first.append(bench.records()[0]["t_arrive"] - begun)
    mine, least = (min(times) * 1000 for times in (detached, first))
    detail = f"{mine:.0f} ms / {least:.0f} ms, quickest of {OPENED}"
    return Measurement(name="--detach / first request of -p", value=mine / least, target=1.3, unit="x", detail=detail)


def _stop_all(bench: Bench) -> None:
    listed = json.loads(bench.robota("ps", "--json").output)
    for session in listed:
        os.kill(session["pid"], signal.SIGKILL)
