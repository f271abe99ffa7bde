"""Run a program that exchanges lines with us in both directions for a whole session, such as an MCP server.

It cannot harm its caller: the length of a line is limited, of standard error only the end is kept, and it is ended with
all its descendants, also if Robota is killed.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from subprocess import PIPE
from typing import TYPE_CHECKING, Final

from robota.workspace.outside_program import ProgramStart, start_outside
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.environment import command_environment, marked
from robota.workspace.process.tree import OrphanGuard, ProcessTree
from robota.workspace.process.withheld_variables import NOTHING_NAMED, WithheldVariables

if TYPE_CHECKING:
    from subprocess import Popen

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
LAST_WORDS_BYTES: Final = 64 * 1024
PIECE_BYTES: Final = 64 * 1024
EXIT_S: Final = 0.5  # to end by itself after its input is closed
GRACE_S: Final = 2.0
POLL_S: Final = 0.02


class LineProcess:
    """One running program. `stop` must be called; `lines` is for one reader."""

    def __init__(
        self,
        program: ProgramStart,
        withheld: WithheldVariables = NOTHING_NAMED,
    ) -> None:
        """Start it. Secrets of our own environment are withheld; `program.env` is added."""
        passed = {**withheld.without_secrets(command_environment(os.environ)), **program.env}
        self._guard = OrphanGuard()
        mark = self._guard.next_mark()
        try:
            self._process = _spawn(program, marked(passed, mark))
        except BaseException:
            self._guard.close()
            raise
        self._tree = ProcessTree(self._process.pid, mark)
        self._loop = asyncio.get_running_loop()
        self._last_words = bytearray()
        self._read_transport: asyncio.ReadTransport | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._status: int | None = None
        self._is_stopped = False
        self._trouble: str | None = None
        self.is_silent = False  # it sends no more lines
        assert self._process.stderr is not None
        self._stderr = self._process.stderr.fileno()
        os.set_blocking(self._stderr, False)
        self._loop.add_reader(self._stderr, self._read_stderr)

    @property
    def last_words(self) -> str:
        """The last part of its standard error."""
        return self._last_words.decode("utf-8", "replace")

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines that it sends, without their ends, until it closes its output or sends a line that is too long."""
        reader = await self._reader()
        buffer, searched = bytearray(), 0
        while piece := await reader.read(PIECE_BYTES):
            buffer += piece
            while (end := buffer.find(b"\n", searched)) >= 0:
                line = bytes(buffer[:end])
                del buffer[: end + 1]
                searched = 0
                yield line
            searched = len(buffer)
            if searched > MAX_LINE_BYTES:
                self._trouble = f"it sent a line of more than {MAX_LINE_BYTES >> 20} MiB"
                break
        self.is_silent = True

    async def write_line(self, line: bytes) -> None:
        """Send a line. `OSError` if it has closed its input."""
        if self._writer is None:
            self._writer = await self._open_writer()
        self._writer.write(line + b"\n")
        await self._writer.drain()

    async def how_it_ended(self) -> str:
        """Describe why the program stopped sending lines: what it did wrong, or how it ended."""
        if self._trouble is not None:
            return self._trouble
        if not await self._has_ended_within(EXIT_S):
            return "it closed its output"
        assert self._status is not None
        return f"it ended with exit code {self._status}" if self._status >= 0 else f"signal {-self._status} ended it"

    async def stop(self) -> None:
        """Close its input, then send TERM, then KILL; afterwards it and all its descendants are gone. Idempotent."""
        if self._is_stopped:
            return
        self._is_stopped = True
        try:
            self._close_input()
            if not await self._has_ended_within(EXIT_S):
                self._tree.signal(signal.SIGTERM)
                await self._has_ended_within(GRACE_S)
        finally:
            self._tree.kill()
            self._process.wait()
            self._read_stderr()
            self._close()

    async def _reader(self) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(loop=self._loop)
        self._read_transport, _ = await self._loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._process.stdout
        )
        return reader

    async def _open_writer(self) -> asyncio.StreamWriter:
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader(loop=self._loop))
        transport, _ = await self._loop.connect_write_pipe(lambda: protocol, self._process.stdin)
        return asyncio.StreamWriter(transport, protocol, None, self._loop)

    async def _has_ended_within(self, seconds: float) -> bool:
        deadline = self._loop.time() + seconds
        while not self._has_ended():
            if self._loop.time() > deadline:
                return False
            await asyncio.sleep(POLL_S)
        return True

    def _has_ended(self) -> bool:
        """Whether it has ended; does not reap it, because the pid of a zombie is not reused."""
        if self._status is not None:
            return True
        status = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if status is None:
            return False
        self._status = status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
        return True

    def _read_stderr(self) -> None:
        try:
            data = os.read(self._stderr, PIECE_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._stderr)
        self._last_words += data
        del self._last_words[:-LAST_WORDS_BYTES]

    def _close_input(self) -> None:
        if self._writer is not None:
            self._writer.close()
        elif self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def _close(self) -> None:
        self._loop.remove_reader(self._stderr)
        if self._read_transport is not None:
            self._read_transport.close()
        elif self._process.stdout is not None:
            self._process.stdout.close()
        if self._process.stderr is not None:
            self._process.stderr.close()
        self._guard.close()


def _spawn(program: ProgramStart, environment: Mapping[str, str]) -> "Popen[bytes]":
    try:
        return start_outside(
            program.argv,
            workspace=program.workspace,
            cwd=program.cwd,
            env=environment,
            verified=program.verified,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise CommandNotStarted(f"{program.argv[0]!r} could not be started: {error.strerror}") from error
