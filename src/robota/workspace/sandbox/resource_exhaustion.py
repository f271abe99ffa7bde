"""Distinguish a temporary shortage of resources from a sandbox that does not work on this machine.

A shortage says nothing about the sandbox: until it is over no command runs, in particular none without a sandbox.
"""

import errno
import os
from typing import Final

from robota.workspace.problems import CommandNotStarted

EXHAUSTION_ERRNOS: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.EINTR}
)
# The messages of the C library, which programs that build a sandbox print.
EXHAUSTION_MESSAGES: Final = tuple(
    os.strerror(number) for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
)


class ResourcesExhausted(CommandNotStarted):
    """A resource ran out while a sandbox was built or probed. Retrying later may work."""

    def __init__(self, resource: str) -> None:
        super().__init__(
            f"The command was not run: no sandbox could be built just now ({resource}). "
            "This is not caused by the command; try again in a moment."
        )


def raise_if_exhausted(error: OSError) -> None:
    """Raise `ResourcesExhausted` for an error that only means that a resource ran out."""
    if error.errno in EXHAUSTION_ERRNOS:
        raise ResourcesExhausted(error.strerror or str(error)) from error


def raise_if_output_reports_exhaustion(output: str) -> None:
    """Like `raise_if_exhausted`, for the output of a program."""
    if any(message in output for message in EXHAUSTION_MESSAGES):
        raise ResourcesExhausted(output)
