"""A session in a process of its own: `robota serve --stdio`."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from logging import getLogger
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.launch_options import PromptAuthor
from robota.embedding.options import SessionOptions
from robota.transport.remote_session import NotConnected, RemoteSession
from robota.workspace.outside_program import CleanEnvironment, start_outside_async

# -P: files of the working directory must not be imported as modules of Robota.
PROGRAM: Final = (sys.executable, "-P", "-c", "from robota.cli.main import entry; entry()", "serve", "--stdio")
GREETING_S: Final = 60.0
LEAVING_S: Final = 20.0
MAX_PROBLEM_LINES: Final = 20
STREAM_LIMIT: Final = 256 * 1024


@asynccontextmanager
async def child_process(
    options: SessionOptions, resume: str | None, env: Mapping[str, str], client: str
) -> AsyncIterator[RemoteSession]:
    """Run the session in a child process. Raises `ConfigError` with the output of the process if it does not start."""
    if not options.attended:
        raise ConfigError("A session in a process of its own asks its client, so it is attended. Nothing was started.")
    process = await start_outside_async(
        (*PROGRAM, *_arguments(options, resume)),
        workspace=None,
        env=CleanEnvironment(env),
        cwd=options.cwd,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        limit=STREAM_LIMIT,
    )
    assert process.stdin is not None and process.stdout is not None
    problems: list[str] = []
    listening = asyncio.create_task(_listen(process, problems))
    session = RemoteSession(process.stdout, process.stdin)
    try:
        await _greet(session, client, listening, problems)
        yield session
    finally:
        await session.close()
        await _wait_for_end(process)
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


async def _wait_for_end(process: Process) -> None:
    """Wait until the process has saved its session, after its input has ended."""
    for stop in (None, process.terminate, process.kill):
        if stop is not None:
            with suppress(ProcessLookupError):
                stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVING_S):
                await process.wait()
                return


def _arguments(options: SessionOptions, resume: str | None) -> Iterator[str]:
    yield "--at-end=pause"
    yield f"--prompt-author={PromptAuthor.ANYBODY}"
    if resume is not None:
        yield f"--resume={resume}"
    for name, value in msgspec.structs.asdict(options).items():
        if name in ("cwd", "attended") or value is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, dict):
            if value:
                yield f"{option}={msgspec.json.encode(value).decode()}"
        elif isinstance(value, tuple):
            yield from (f"{option}={each}" for each in value)
        else:
            yield f"{option}={value}"
