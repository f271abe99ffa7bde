"""Runs the status command of the person's settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from robota.clients.tui.flows.status_report import StatusTimes, status_report
from robota.clients.view.model import ViewModel
from robota.version import VERSION
from robota.workspace.person_programs.asked_program import ProgramFailed, output_of

LONGEST_S: Final = 5.0
MOST_BYTES: Final = 64 * 1024


async def status_output(command: str, view: ViewModel, times: StatusTimes, env: Mapping[str, str], cwd: Path) -> str:
    """What it prints; a command that fails says so in its place."""
    told = msgspec.json.encode(status_report(view, VERSION, times))
    try:
        output = await output_of(
            ("/bin/sh", "-c", command), env=env, cwd=cwd, stdin=told, seconds=LONGEST_S, limit=MOST_BYTES
        )
    except ProgramFailed as failed:
        return f"The status command of the settings gives nothing: {failed}"
    return output.decode("utf-8", "replace")
