"""Distinguish a temporary shortage of resources from a sandbox that does not work on this machine.

A shortage says nothing about the sandbox: until it is over no command runs, in particular none without a sandbox.
"""

import errno
import os
from typing import Final

from robota.workspace.problems import CommandNotStarted

SHORTAGES: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.EINTR}
)
# The messages of the C library, which programs that build a sandbox print.
WORDS: Final = tuple(os.strerror(number) for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN))


class MachineIsShort(CommandNotStarted):
    """A resource ran out while a sandbox was built or probed. Retrying later may work."""

    def __init__(self, of_what: str) -> None:
        super().__init__(
            f"The command was not run: no sandbox could be built just now ({of_what}). "
            "This is not caused by the command; try again in a moment."
        )


def raise_if_short(error: OSError) -> None:
    """Raise `MachineIsShort` for an error that only means that a resource ran out."""
    if error.errno in SHORTAGES:
        raise MachineIsShort(error.strerror or str(error)) from error


def raise_if_words_of_shortage(words: str) -> None:
    """Like `raise_if_short`, for the output of a program."""
    if any(word in words for word in WORDS):
        raise MachineIsShort(words)
