"""Run one of our modules as a separate process: for parsers of untrusted input, and for work that needs much memory.

It gets none of our environment, and so no keys, except what Python needs to find packages. `-P` and the working
directory keep Python from importing files of the workspace as modules.
"""

import asyncio
import os
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from subprocess import DEVNULL, PIPE, TimeoutExpired
from typing import Final

from robota.workspace.outside_program import run_outside, start_outside_async

MEMORY_BYTES: Final = 1024**3
# A few bytes of input can make a child print almost as much as it may use, which would be loaded into our memory.
MAX_OUTPUT_BYTES: Final = 16 * 1024**2
PIECE_BYTES: Final = 1 << 16
INTERPRETER: Final = (sys.executable, "-P", "-X", "utf8")
DIRECTORY: Final = "/"
# Where Python looks for packages; Robota may be installed in any of these places.
PASSED_ON: Final = ("HOME", "PYTHONPATH", "PYTHONUSERBASE")
VARIABLES: Final = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
CRASHED: Final = f"it needs more than {MEMORY_BYTES:,} bytes of memory, or crashes what reads it"


class ChildFailed(Exception):
    """The process crashed, took too long or needed too much memory."""


def module_command(module: str, arguments: Sequence[str] = ()) -> list[str]:
    """The command line that runs one of our modules from any directory."""
    return [*INTERPRETER, "-m", module, *arguments]


async def run_module(module: str, arguments: Sequence[str], data: bytes, *, timeout_s: float) -> bytes:
    """Run the module with the data on its standard input and return its output; `ChildFailed` if it fails."""
    process = await start_outside_async(
        module_command(module, arguments),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        workspace=None,
        cwd=DIRECTORY,
        env=VARIABLES,
        start_new_session=True,  # so that Ctrl+C reaches only us
    )
    try:
        async with asyncio.timeout(timeout_s):
            printed, _ = await asyncio.gather(_printed(process), _send(process, data))
            await process.wait()
    except TimeoutError as error:
        raise ChildFailed(f"it takes more than {timeout_s:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    if process.returncode != 0:
        raise ChildFailed(CRASHED)
    return printed


async def _printed(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    kept = bytearray()
    while piece := await process.stdout.read(PIECE_BYTES):
        kept += piece
        if len(kept) > MAX_OUTPUT_BYTES:
            raise ChildFailed(f"what is in it is longer than {MAX_OUTPUT_BYTES:,} bytes")
    return bytes(kept)


async def _send(process: asyncio.subprocess.Process, data: bytes) -> None:
    assert process.stdin is not None
    with suppress(ConnectionError):  # it ended before it had read everything
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


def module_output(module: str, arguments: Sequence[str], data: bytes, *, timeout_s: float) -> bytes:
    """The blocking form of `run_module`."""
    try:
        ended = run_outside(
            module_command(module, arguments),
            input=data,
            stdout=PIPE,
            stderr=DEVNULL,
            timeout=timeout_s,
            workspace=None,
            cwd=DIRECTORY,
            env=VARIABLES,
            start_new_session=True,
        )
    except TimeoutExpired as error:
        raise ChildFailed(f"it takes more than {timeout_s:g} s") from error
    except OSError as error:
        raise ChildFailed(f"no process could be started ({error.strerror})") from error
    if ended.returncode != 0:
        raise ChildFailed(CRASHED)
    return ended.stdout


def limit_this_process() -> None:
    """Limit the memory and disable core dumps; such a module calls this first."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
