"""Run the status command of the user's settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from robota.clients.tui.flows.status_report import StatusTimes, StatusWorktree, status_report
from robota.clients.view.model import ViewModel
from robota.version import VERSION
from robota.workspace.outside_program import ProgramStart
from robota.workspace.user_programs.program_output import ProgramFailed, output_of

TIMEOUT_S: Final = 5.0
MAX_BYTES: Final = 64 * 1024


class StatusProgram(msgspec.Struct, frozen=True, kw_only=True):
    """The command, its working directory, and the worktree of the session if it has one."""

    command: str
    cwd: Path
    worktree: StatusWorktree | None = None


async def status_output(wanted: StatusProgram, view: ViewModel, times: StatusTimes, env: Mapping[str, str]) -> str:
    """The output of the command; if it fails, a message instead."""
    report = msgspec.json.encode(status_report(view, VERSION, times, wanted.worktree))
    command = ("/bin/sh", "-c", wanted.command)
    program = ProgramStart(argv=command, workspace=wanted.cwd, cwd=wanted.cwd, env=env)
    try:
        output = await output_of(
            program,
            stdin=report,
            seconds=TIMEOUT_S,
            limit=MAX_BYTES,
        )
    except ProgramFailed as failed:
        return f"The status command failed: {failed}"
    return output.decode("utf-8", "replace")
