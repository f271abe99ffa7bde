"""If Robota is killed without a chance to clean up, its commands must die too: a small shell process kills them.

The kernel's own way (a death signal) reaches only the shell of a command and not what that started, and setting it
needs code between fork and exec. The guardian reads from a pipe that only Robota can write to: when the pipe ends
without a word, Robota is gone.
"""

import os
import subprocess
import weakref
from contextlib import suppress
from typing import Final

from robota.workspace.output.capture import spool_prefix
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.environment import unmarked

SCRIPT: Final = r"""
trap '' HUP INT TERM
PATH=/usr/local/bin:/usr/bin:/bin
read -r word && exit 0
for round in 1 2 3 4 5; do
  for place in $(grep -lF -e "$1" /proc/[0-9]*/environ 2>/dev/null); do
    place=${place#/proc/}
    kill -KILL "${place%/environ}" 2>/dev/null
  done
done
rm -f "$2"*
"""


class OrphanGuard:
    """Gives every command of one owner a mark, and kills what carries one if Robota dies without cleaning up."""

    def __init__(self) -> None:
        self._mark = os.urandom(8).hex()
        self._count = 0
        self._guardian: GuardianProcess | None = None

    @property
    def spool_prefix(self) -> str:
        """How the names of their output files begin."""
        return spool_prefix(self._mark)

    def next_mark(self) -> str:
        """A mark for the environment of the next command; the first one starts the guardian process."""
        if self._guardian is None:
            try:
                self._guardian = GuardianProcess(f"{self._mark}.", self.spool_prefix)
            except OSError as error:
                raise CommandNotStarted(f"Nothing was run: {error.strerror}.") from error
        self._count += 1
        return f"{self._mark}.{self._count}"

    def close(self) -> None:
        """End the guardian process. Another mark starts a new one. Doing it twice does nothing."""
        if self._guardian is not None:
            self._guardian.dismiss()
            self._guardian = None


class GuardianProcess:
    """A shell that, if Robota dies, kills the commands marked with `mark` and removes the files named `files`*."""

    def __init__(self, mark: str, files: str) -> None:
        read_end, write_end = os.pipe()
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", SCRIPT, "robota-guardian", mark, files],
                cwd="/",
                env=unmarked(os.environ),
                stdin=read_end,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            os.close(write_end)
            raise
        finally:
            os.close(read_end)
        # Also when it is forgotten and when the interpreter ends: only a violent death goes without the word.
        self._dismissal = weakref.finalize(self, _dismiss, process, write_end)

    def dismiss(self) -> None:
        """Nothing is left to watch over. Doing it twice does nothing."""
        self._dismissal()


def _dismiss(process: "subprocess.Popen[bytes]", write_end: int) -> None:
    with suppress(BrokenPipeError):
        os.write(write_end, b"done\n")
    os.close(write_end)
    process.wait()
