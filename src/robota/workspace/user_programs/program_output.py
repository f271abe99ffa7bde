"""Run a helper program, such as for the clipboard or the status line, and return its short output."""

import asyncio
import contextlib
import os
import signal

from robota.workspace.outside_program import ProgramStart, start_outside_async


class ProgramFailed(Exception):
    """There is no output. The message says why, for the user."""


async def output_of(program: ProgramStart, *, stdin: bytes = b"", seconds: float, limit: int) -> bytes:
    """The output of a program. `ProgramFailed` if it cannot start, fails, takes too long or prints too much."""
    try:
        process = await start_outside_async(
            program.argv,
            workspace=program.workspace,
            env=program.env,
            cwd=program.cwd,
            verified=program.verified,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise ProgramFailed(f"{program.argv[0]} could not be started: {error.strerror}.") from error
    try:
        async with asyncio.timeout(seconds):
            output = await _exchange(process, stdin, limit)
    except TimeoutError as error:
        raise ProgramFailed(f"it took longer than {seconds:g} s.") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with all its children
        await process.wait()
    if process.returncode != 0:
        raise ProgramFailed(f"it failed with exit code {process.returncode}.")
    return output


async def _exchange(process: asyncio.subprocess.Process, stdin: bytes, limit: int) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(ConnectionError):  # it need not read its input
        process.stdin.write(stdin)
        await process.stdin.drain()
    process.stdin.close()
    output = bytearray()
    while piece := await process.stdout.read(65536):
        output += piece
        if len(output) > limit:
            raise ProgramFailed(f"it printed more than {limit:,} bytes.")
    await process.wait()
    return bytes(output)
