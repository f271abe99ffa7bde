"""Run robota itself as a child process: in the user's terminal, to ask a question, or to start a session."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from robota.workspace.outside_program import run_outside
from robota.workspace.process.python_child import module_command


async def run_again(arguments: Sequence[str], env: Mapping[str, str]) -> int:
    """Run Robota with these arguments in the terminal; returns the exit code."""
    command = module_command("robota", arguments)
    done = await asyncio.to_thread(run_outside, command, workspace=None, env=env, cwd=Path.cwd())
    return done.returncode


def run_quietly(arguments: Sequence[str], env: Mapping[str, str], cwd: Path) -> int:
    """Run Robota with these arguments, without what it prints; what goes wrong is shown. Returns the exit code."""
    command = module_command("robota", arguments)
    with Path(os.devnull).open("wb") as nothing:
        return run_outside(command, workspace=None, env=env, cwd=cwd, stdout=nothing).returncode
