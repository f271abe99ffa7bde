"""Starts a session in a process of its own, and talks to it over its standard streams."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from logging import getLogger
from pathlib import Path
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.transport.remote_session import NotConnected, RemoteSession
from robota.workspace.outside_program import CleanEnvironment, start_outside_async

GREETING_S: Final = 60.0
LEAVING_S: Final = 20.0
MAX_PROBLEM_LINES: Final = 20
STREAM_LIMIT: Final = 256 * 1024


class ChildProgram(msgspec.Struct, frozen=True, kw_only=True):
    """What the process runs: a call of Robota's own code, with these arguments.

    `first` is what it reads before the lines of the protocol. After each step of ending it (its input ends, SIGTERM,
    SIGKILL), it has `leaving_s` seconds.
    """

    code: str
    arguments: tuple[str, ...] = ()
    cwd: Path
    env: Mapping[str, str]
    first: bytes = b""
    leaving_s: float = LEAVING_S

    @property
    def argv(self) -> tuple[str, ...]:
        # -P: files of the working directory must not be imported as modules of Robota.
        return (sys.executable, "-P", "-c", self.code, *self.arguments)


class ChildSession(msgspec.Struct, frozen=True, kw_only=True):
    """The session in the process, which has this id."""

    port: RemoteSession
    pid: int


@asynccontextmanager
async def child_process(program: ChildProgram, client: str) -> AsyncIterator[ChildSession]:
    """Run a session in a child process. Raises `ConfigError` with the output of the process if it does not start."""
    process = await start_outside_async(
        program.argv,
        workspace=None,
        env=CleanEnvironment(program.env),
        cwd=program.cwd,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        limit=STREAM_LIMIT,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(program.first)
    problems: list[str] = []
    listening = asyncio.create_task(_listen(process, problems))
    session = RemoteSession(process.stdout, process.stdin)
    try:
        await _greet(session, client, listening, problems)
        yield ChildSession(port=session, pid=process.pid)
    finally:
        await _ended(process, session, program.leaving_s)
        listening.cancel()


async def _greet(session: RemoteSession, client: str, listening: "asyncio.Task[None]", problems: list[str]) -> None:
    try:
        async with asyncio.timeout(GREETING_S):
            await session.greet(client)
    except (NotConnected, TimeoutError) as error:
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await listening
        raise ConfigError("\n".join(problems) or f"The process of the session does not answer: {error}") from error


async def _listen(process: Process, problems: list[str]) -> None:
    """Pass on the messages of the process; the first lines say why it did not start."""
    assert process.stderr is not None
    async for line in process.stderr:
        text = line.decode("utf-8", "replace").rstrip("\n")
        if len(problems) < MAX_PROBLEM_LINES:
            problems.append(text.removeprefix("robota: "))
        getLogger("robota").warning("%s", text)


async def _ended(process: Process, session: RemoteSession, leaving_s: float) -> None:
    """Let the process save its session, after its input has ended. A second cancellation kills it at once."""
    try:
        await session.close()
        for stop in (None, process.terminate, process.kill):
            if stop is not None:
                with suppress(ProcessLookupError):
                    stop()
            with suppress(TimeoutError):
                async with asyncio.timeout(leaving_s):
                    await process.wait()
                    return
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
