"""Run one of our modules as a separate process: for parsers of untrusted input, and for work that needs much memory.

It gets none of our environment, and so no keys, except what Python needs to find packages. `-P` and the working
directory keep Python from importing files of the workspace as modules.
"""

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

MEMORY_BYTES: Final = 1024**3
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
    process = await asyncio.create_subprocess_exec(
        *module_command(module, arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=DIRECTORY,
        env=VARIABLES,
        start_new_session=True,  # so that Ctrl+C reaches only us
    )
    try:
        async with asyncio.timeout(timeout_s):
            printed, _ = await process.communicate(data)
    except TimeoutError as error:
        raise ChildFailed(f"it takes more than {timeout_s:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
    if process.returncode != 0:
        raise ChildFailed(CRASHED)
    return printed


def module_output(module: str, arguments: Sequence[str], data: bytes, *, timeout_s: float) -> bytes:
    """The blocking form of `run_module`."""
    try:
        ended = subprocess.run(
            module_command(module, arguments),
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout_s,
            check=False,
            cwd=DIRECTORY,
            env=VARIABLES,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
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
