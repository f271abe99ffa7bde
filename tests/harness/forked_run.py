"""Runs a script in a fork of a Python that has imported most of what is needed: see `interpreter_server`."""

import atexit
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread, Timer

from tests.harness.interpreter_server import LENGTH_BYTES

SERVER = Path(__file__).with_name("interpreter_server.py")
READ_AT_START = ("PYTHON", "LANG", "LC_")


def can_fork() -> bool:
    """Whether the system lets a process wait for several others: Linux since 5.3."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that Python reads when it starts: a fork would not notice that they differ."""
    return {name: value for name, value in env.items() if name.startswith(READ_AT_START)}


def run_forked(
    command: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes, longest_s: float
) -> tuple[int, bytes, bytes]:
    """The exit code as `subprocess` has it, and what it wrote; it is killed if it takes longer than that."""
    ends = [os.pipe() for _ in range(3)]
    ours = (ends[0][1], ends[1][0], ends[2][0])
    theirs = (ends[0][0], ends[1][1], ends[2][1])
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(_server(tuple(read_at_start(env).items())))
        run = json.dumps({"arguments": list(command), "directory": str(cwd), "environment": dict(env)}).encode()
        socket.send_fds(connection, [len(run).to_bytes(LENGTH_BYTES)], theirs)
        connection.sendall(run)
        for end in theirs:
            os.close(end)
        pid = _number(connection)
        limit = Timer(longest_s, os.kill, (pid, signal.SIGKILL))
        limit.start()
        try:
            out, err = _communicate(*ours, stdin)
            return _number(connection), out, err
        finally:
            limit.cancel()


def _communicate(to_stdin: int, from_stdout: int, from_stderr: int, stdin: bytes) -> tuple[bytes, bytes]:
    """Write and read all three at once, because each is of limited size."""
    err: list[bytes] = []

    def feed() -> None:
        try:
            with open(to_stdin, "wb") as stream:
                stream.write(stdin)
        except BrokenPipeError:
            return  # It did not read to the end.

    def listen() -> None:
        with open(from_stderr, "rb") as stream:
            err.append(stream.read())

    threads = [Thread(target=feed), Thread(target=listen)]
    for thread in threads:
        thread.start()
    with open(from_stdout, "rb") as stream:
        out = stream.read()
    for thread in threads:
        thread.join()
    return out, err[0]


def _number(connection: socket.socket) -> int:
    told = connection.recv(LENGTH_BYTES, socket.MSG_WAITALL)
    assert len(told) == LENGTH_BYTES, "the interpreter that forks for tests has ended"
    return int.from_bytes(told, signed=True)


@functools.cache
def _server(env: tuple[tuple[str, str], ...]) -> str:
    """Start the one of this process; the path of its socket. It ends with us."""
    directory = tempfile.mkdtemp(prefix="interpreter-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    path = str(Path(directory, "socket"))
    command = [sys.executable, str(SERVER), path]
    server = subprocess.Popen(command, cwd="/", env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(server.wait)
    assert server.stdin is not None and server.stdout is not None
    atexit.register(server.stdin.close)
    assert server.stdout.readline(), "the interpreter that forks for tests does not start"
    return path
