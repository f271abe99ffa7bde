"""Run the status command of the user's settings."""

from collections.abc import Mapping
from typing import Final

import msgspec

from robota.clients.tui.flows.status_report import StatusTimes, StatusWorktree, status_report
from robota.clients.view.model import ViewModel
from robota.version import VERSION
from robota.workspace.outside_code.code_search import NamedProgram
from robota.workspace.outside_code.outside_code import CodeRefused, OutsideCode
from robota.workspace.outside_program import ProgramStart
from robota.workspace.user_programs.program_output import ProgramFailed, output_of

TIMEOUT_S: Final = 5.0
MAX_BYTES: Final = 64 * 1024


class StatusProgram(msgspec.Struct, frozen=True, kw_only=True):
    """The command, what compares the files it runs, and the worktree of the session if it has one."""

    command: NamedProgram
    code: OutsideCode
    worktree: StatusWorktree | None = None


async def status_output(status: StatusProgram, view: ViewModel, times: StatusTimes, env: Mapping[str, str]) -> str:
    """The output of the command; if it fails, a message instead."""
    report = msgspec.json.encode(status_report(view, VERSION, times, status.worktree))
    command = status.command
    try:
        code = status.code.verify(command)
        program = ProgramStart(
            argv=command.argv,
            workspace=status.code.root,
            cwd=command.cwd,
            env={**env, **code.variables},
            verified=code.files,
        )
        output = await output_of(
            program,
            stdin=report,
            seconds=TIMEOUT_S,
            limit=MAX_BYTES,
        )
    except CodeRefused as problem:
        return f"The status command was not run: {problem}"
    except ProgramFailed as failed:
        return f"The status command failed: {failed}"
    return output.decode("utf-8", "replace")
