"""A process of ours that parses untrusted text, one request at a time.

A file can crash or stall the C parsers, so they run apart, with limited memory. The process starts with the first
request and ends with ours. If it does not answer in time, it is killed, and the next request starts a new one. A
request is a line of JSON and the bytes of a text, the answer a line of JSON.
"""

import os
import selectors
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING, Final

from robota.workspace.outside_program import start_outside
from robota.workspace.process.python_child import DIRECTORY, VARIABLES

if TYPE_CHECKING:
    from subprocess import Popen

ANSWER_S: Final = 5.0
PIECE_BYTES: Final = 64 * 1024


class NoAnswer(Exception):
    """The process crashed on the text, did not answer in time, or answered too much; it was ended."""


class ParserChild:
    """One process; thread-safe."""

    def __init__(self, program: Sequence[str], max_answer: int, answer_s: float = ANSWER_S) -> None:
        """`program` is a command line of ours, `max_answer` how many bytes an answer may have."""
        self._program = program
        self._max_answer = max_answer
        self._answer_s = answer_s
        self._lock = threading.Lock()
        self._process: Popen[bytes] | None = None

    def ask(self, request: bytes, data: bytes) -> bytes:
        """The answer to a request, which has no line break; raises `NoAnswer`."""
        with self._lock:
            try:
                return self._asked(request, data)
            except (OSError, ValueError) as error:
                self._end()
                raise NoAnswer(str(error)) from error

    def end(self) -> None:
        """End the process; the next request starts another."""
        with self._lock:
            self._end()

    def _asked(self, request: bytes, data: bytes) -> bytes:
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = _started(self._program)
        assert process.stdin is not None and process.stdout is not None
        deadline = time.monotonic() + self._answer_s
        _send(process.stdin.fileno(), request + b"\n" + data, deadline)
        return _line(process.stdout.fileno(), self._max_answer, deadline)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with process:
                pass


def _started(program: Sequence[str]) -> "Popen[bytes]":
    process = start_outside(
        program,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        workspace=None,
        cwd=DIRECTORY,
        env=VARIABLES,
        bufsize=0,
        start_new_session=True,  # so that Ctrl+C reaches only us
    )
    assert process.stdin is not None
    os.set_blocking(process.stdin.fileno(), False)
    return process


def _send(descriptor: int, data: bytes, deadline: float) -> None:
    rest = memoryview(data)
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_WRITE)
        while rest:
            _wait(selector, deadline)
            with suppress(BlockingIOError):
                rest = rest[os.write(descriptor, rest) :]


def _line(descriptor: int, max_bytes: int, deadline: float) -> bytes:
    answer = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while not answer.endswith(b"\n"):
            _wait(selector, deadline)
            piece = os.read(descriptor, PIECE_BYTES)
            answer += piece
            if not piece or len(answer) > max_bytes:
                raise OSError("the process ended without an answer")
    return bytes(answer)


def _wait(selector: selectors.BaseSelector, deadline: float) -> None:
    if not selector.select(max(0.0, deadline - time.monotonic())):
        raise TimeoutError
