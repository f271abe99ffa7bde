"""A program that is given something to read and whose output is wanted whole: hooks and the like."""

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

GRACE_S: Final = 0.5
OUTPUT_BYTES: Final = 1024 * 1024


class FilterOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended. `exit_code` is absent if it was stopped or ended by a signal."""

    exit_code: int | None
    stdout: str
    stderr: str
    timed_out: bool = False


async def run_filter(
    command: str, stdin: bytes, cwd: Path, env: Mapping[str, str], timeout_s: float
) -> FilterOutcome:
    """Run a shell command without a terminal. It and all it started are gone when this returns, however it ends."""
    process = await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        command,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout_s):
            stdout, stderr = await _talk(process, stdin)
            code = await process.wait()
    except TimeoutError:
        return FilterOutcome(exit_code=None, stdout="", stderr="", timed_out=True)
    finally:
        await _end(process)
    return FilterOutcome(exit_code=code if code >= 0 else None, stdout=stdout, stderr=stderr)


async def _talk(process: asyncio.subprocess.Process, stdin: bytes) -> tuple[str, str]:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    _, stdout, stderr = await asyncio.gather(
        _feed(process.stdin, stdin), _read(process.stdout), _read(process.stderr)
    )
    return stdout, stderr


async def _feed(stream: asyncio.StreamWriter, data: bytes) -> None:
    """Write what it may read; one that does not care to read is no error."""
    with suppress(ConnectionError):
        stream.write(data)
        await stream.drain()
    stream.close()


async def _read(stream: asyncio.StreamReader) -> str:
    """Everything up to a limit; the rest is read and dropped, so that the program does not hang."""
    kept = bytearray()
    while piece := await stream.read(1 << 16):
        kept += piece[: OUTPUT_BYTES - len(kept)]
    return kept.decode("utf-8", "replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    """TERM, then KILL, to everything in its group."""
    if process.returncode is None:
        _signal(process.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await process.wait()
    _signal(process.pid, signal.SIGKILL)
    if process.returncode is None:
        await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
