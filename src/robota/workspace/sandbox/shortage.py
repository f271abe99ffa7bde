"""Telling that the machine is short of something right now from that a sandbox does not work on it.

A shortage passes, and says nothing about the sandbox: no command runs until it is over, least of all without one.
"""

import errno
import os
from typing import Final

from robota.workspace.problems import CommandNotStarted

SHORTAGES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EINTR})
# As programs that build a sandbox say it, in the words of the C library.
WORDS: Final = tuple(os.strerror(number) for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN))


class MachineIsShort(CommandNotStarted):
    """Something ran out while a sandbox was built or tried. Trying again later may work."""

    def __init__(self, of_what: str) -> None:
        super().__init__(
            f"The command was not run: no sandbox could be built just now ({of_what}). "
            "This is not caused by the command; try again in a moment."
        )


def raise_if_short(error: OSError) -> None:
    """Raise `MachineIsShort` for an error that only says that something ran out."""
    if error.errno in SHORTAGES:
        raise MachineIsShort(error.strerror or str(error)) from error


def raise_if_words_of_shortage(words: str) -> None:
    """The same for what a program printed."""
    if any(word in words for word in WORDS):
        raise MachineIsShort(words)
