"""A module of ours run as a process of its own: for parsers of what anybody wrote, and for what needs much memory.

It has no variables of ours, and so no keys, but finds packages where we find them. `-P` and the directory keep Python
from taking what lies in a workspace for one of our modules.
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
# Where Python looks for packages; a person may have installed Robota in any of these ways.
PASSED_ON: Final = ("HOME", "PYTHONPATH", "PYTHONUSERBASE")
VARIABLES: Final = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
CRASHED: Final = f"it needs more than {MEMORY_BYTES:,} bytes of memory, or crashes what reads it"


class ChildFailed(Exception):
    """The process crashed, took too long or needed too much memory."""


def module_command(module: str, arguments: Sequence[str] = ()) -> list[str]:
    """The command line that runs a module of ours, wherever it is started."""
    return [*INTERPRETER, "-m", module, *arguments]


async def run_module(module: str, arguments: Sequence[str], data: bytes, *, timeout_s: float) -> bytes:
    """What the module prints, given the data on its standard input."""
    process = await asyncio.create_subprocess_exec(
        *module_command(module, arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=DIRECTORY,
        env=VARIABLES,
        start_new_session=True,  # Ctrl+C is for us
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
    """The same for whoever may wait for it."""
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
    """Called first by such a module: no more memory than it may have, and no core dump."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
