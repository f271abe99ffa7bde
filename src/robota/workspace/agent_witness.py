"""An unmarked process beside one that is about to run agents, so that the doors of other sessions let it in.

`is_of_agent` takes a marked process for the user's own if an unmarked one belongs to its session. Editors and service
managers start programs in sessions of their own, where there is nobody else.
"""

import os
from contextlib import suppress
from functools import cache
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING

from robota.workspace.agent_mark import is_of_agent, mark_this_process
from robota.workspace.outside_program import start_outside

if TYPE_CHECKING:
    from subprocess import Popen


@cache
def mark_with_witness() -> "Popen[bytes] | None":
    """Mark this process. The witness, if there has to be one, is born unmarked, and ends when this process ends."""
    witness = _witness() if os.getsid(0) == os.getpid() else None
    mark_this_process()
    return witness


def _witness() -> "Popen[bytes] | None":
    if is_of_agent(os.getpid()):
        return None  # it would have the mark, too
    # Without it this process can only run sessions of its own.
    with suppress(OSError):
        return start_outside(
            ("/bin/sh", "-c", "read -r _"), workspace=None, env={}, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL
        )
    return None
