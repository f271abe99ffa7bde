"""This program itself, run again at the person's terminal to ask them something."""

import asyncio
import subprocess
import sys
from collections.abc import Mapping, Sequence


async def run_again(arguments: Sequence[str], env: Mapping[str, str]) -> int:
    """Run Robota with these arguments, the terminal its own meanwhile; the exit code."""
    command = [sys.executable, "-m", "robota", *arguments]
    done = await asyncio.to_thread(subprocess.run, command, env=dict(env), check=False)
    return done.returncode
