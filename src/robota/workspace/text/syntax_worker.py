"""Check the syntax of texts in a separate process, because an untrusted file can crash or stall the C parsers.

The process starts with the first text, has limited memory, and ends with ours. If it does not answer in time, it is
killed, and the next text starts a new one. A request is a line of JSON and the bytes of the text, the answer a line of
JSON.
"""

import os
import selectors
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING

import msgspec

from robota.workspace.outside_program import start_outside
from robota.workspace.process.python_child import DIRECTORY, VARIABLES, module_command

if TYPE_CHECKING:
    from subprocess import Popen

PROGRAM = module_command("robota.workspace.text.syntax_tree")
ANSWER_S = 5.0
MAX_ANSWER_BYTES = 64 * 1024


class SyntaxBreak(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first syntax error of a file; positions are counted from 1, in characters."""

    language: str
    line: int
    column: int
    text: str
    problem: str


class NotParsed(msgspec.Struct, frozen=True, tag=True):
    """The text was not checked: no grammar, not text, or it would take too long."""


class TreeShape(msgspec.Struct, frozen=True, tag=True):
    """A digest of the syntax tree: texts with the same digest differ only in formatting, comments and local names."""

    digest: str


Finding = SyntaxBreak | NotParsed | None


class SyntaxWorker:
    """One process that checks texts, one at a time; thread-safe."""

    def __init__(self, program: Sequence[str] = PROGRAM) -> None:
        self._program = program
        self._lock = threading.Lock()
        self._process: Popen[bytes] | None = None

    def first_error(self, language: str, data: bytes) -> Finding:
        """The first error in a text; None if there is none, `NotParsed` if the process crashes on it."""
        answer = self._answer(SyntaxRequest(language=language, size=len(data)), data)
        return NotParsed() if isinstance(answer, TreeShape) else answer

    def shape(self, language: str, data: bytes) -> str | None:
        """The digest of the syntax tree; None if there is none, as for a text with errors."""
        answer = self._answer(SyntaxRequest(language=language, size=len(data), wants_shape=True), data)
        return answer.digest if isinstance(answer, TreeShape) else None

    def _answer(self, request: "SyntaxRequest", data: bytes) -> Finding | TreeShape:
        with self._lock:
            try:
                return self._asked(request, data)
            except (OSError, ValueError, msgspec.DecodeError):
                self._end()
                return NotParsed()

    def _asked(self, request: "SyntaxRequest", data: bytes) -> Finding | TreeShape:
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = _started(self._program)
        assert process.stdin is not None and process.stdout is not None
        deadline = time.monotonic() + ANSWER_S
        _send(process.stdin.fileno(), msgspec.json.encode(request) + b"\n" + data, deadline)
        answer = _line(process.stdout.fileno(), deadline)
        finding: Finding | TreeShape = msgspec.json.decode(answer, type=Finding | TreeShape)
        return finding

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with process:
                pass


class SyntaxRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The line of JSON before a text."""

    language: str
    size: int
    wants_shape: bool = False


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


def _line(descriptor: int, deadline: float) -> bytes:
    answer = b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while not answer.endswith(b"\n"):
            _wait(selector, deadline)
            piece = os.read(descriptor, MAX_ANSWER_BYTES)
            answer += piece
            if not piece or len(answer) > MAX_ANSWER_BYTES:
                raise OSError("the process ended without an answer")
    return answer


def _wait(selector: selectors.BaseSelector, deadline: float) -> None:
    if not selector.select(max(0.0, deadline - time.monotonic())):
        raise TimeoutError
