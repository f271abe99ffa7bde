"""Run a program with given standard input and collect its whole output, for hooks and the like."""

import asyncio
import os
import signal
from contextlib import suppress
from subprocess import PIPE
from typing import IO, Final

import msgspec

from robota.workspace.outside_program import ProgramStart, start_outside
from robota.workspace.process.environment import marked
from robota.workspace.process.tree import OrphanGuard, ProcessTree

GRACE_S: Final = 0.5
DRAIN_S: Final = 0.2
OUTPUT_BYTES: Final = 1024 * 1024
PIECE_BYTES: Final = 64 * 1024
PIECES_LEFT_OVER: Final = 32


class FilterOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended. `exit_code` is None if it was stopped or killed by a signal."""

    exit_code: int | None
    stdout: str
    stderr: str
    timed_out: bool = False


async def run_filter(
    program: ProgramStart, stdin: bytes, timeout_s: float, guard: OrphanGuard | None = None
) -> FilterOutcome:
    """Run a program without a terminal; `OSError` if it cannot be started.

    When this returns or raises, it and all its descendants have ended; with `guard` also if Robota is killed.
    """
    mark = os.urandom(8).hex() if guard is None else guard.next_mark()
    running = _Filter(program, stdin, mark)
    try:
        async with asyncio.timeout(timeout_s):
            await running.exited.wait()
        await running.drain()
    except TimeoutError:
        await running.stop()
        return FilterOutcome(exit_code=None, stdout="", stderr="", timed_out=True)
    finally:
        code = running.finish()
    return FilterOutcome(exit_code=code if code >= 0 else None, stdout=running.stdout.text, stderr=running.stderr.text)


class _Filter:
    """One run. It is not reaped before `finish`, so that its pid is not reused while the tree is in use."""

    def __init__(self, program: ProgramStart, stdin: bytes, mark: str) -> None:
        self._process = start_outside(
            program.argv,
            workspace=program.workspace,
            cwd=program.cwd,
            env=marked(program.env, mark),
            verified=program.verified,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None and self._process.stdout is not None and self._process.stderr is not None
        self._tree = ProcessTree(self._process.pid, mark)
        self._input = _Feeder(self._process.stdin, stdin)
        self.stdout = _Reader(self._process.stdout)
        self.stderr = _Reader(self._process.stderr)
        self.exited = asyncio.Event()
        self._exit_notice = self._watch_exit()

    async def drain(self) -> None:
        """Read the remaining output, but do not wait for another process that keeps the pipe open."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await self.stdout.ended.wait()
                await self.stderr.ended.wait()

    async def stop(self) -> None:
        """Send TERM, and wait up to `GRACE_S` for the end."""
        self._tree.signal(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await self.exited.wait()

    def finish(self) -> int:
        """Kill its remaining processes and release all resources. Returns the return code as in `subprocess`."""
        self._tree.kill()
        code = self._process.wait()
        for pipe in (self._input, self.stdout, self.stderr):
            pipe.close()
        if self._exit_notice is not None:
            asyncio.get_running_loop().remove_reader(self._exit_notice)
            os.close(self._exit_notice)
        return code

    def _watch_exit(self) -> int | None:
        loop = asyncio.get_running_loop()
        try:
            notice = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            # Without pidfd, a thread waits. It ends with the process, at the latest in `finish`.
            loop.run_in_executor(None, self._process.wait).add_done_callback(lambda _: self.exited.set())
            return None
        loop.add_reader(notice, self.exited.set)
        return notice


class _Feeder:
    """Writes the program's input and closes it. The program need not read it."""

    def __init__(self, pipe: IO[bytes], data: bytes) -> None:
        self._pipe = pipe
        self._left = memoryview(data)
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe.fileno(), False)
        self._loop.add_writer(pipe.fileno(), self._write)

    def close(self) -> None:
        """Idempotent."""
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()

    def _write(self) -> None:
        try:
            self._left = self._left[os.write(self._pipe.fileno(), self._left[:PIECE_BYTES]) :]
        except BlockingIOError:
            return
        except OSError:
            self._left = self._left[:0]
        if not self._left:
            self.close()


class _Reader:
    """Keeps the output up to a limit and discards the rest, so that the program does not block."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.ended = asyncio.Event()
        self._kept = bytearray()
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe.fileno(), False)
        self._loop.add_reader(pipe.fileno(), self._read)

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    def close(self) -> None:
        """Read what is in the pipe now. A pipe's buffer is small, so this ends even if a process is still writing."""
        for _ in range(PIECES_LEFT_OVER):
            if not self._read():
                break
        self._loop.remove_reader(self._pipe.fileno())
        self._pipe.close()

    def _read(self) -> bool:
        """Read one piece; False if there is none."""
        try:
            piece = os.read(self._pipe.fileno(), PIECE_BYTES)
        except BlockingIOError:
            return False
        self._kept += piece[: OUTPUT_BYTES - len(self._kept)]
        if not piece:
            self._loop.remove_reader(self._pipe.fileno())
            self.ended.set()
        return bool(piece)
