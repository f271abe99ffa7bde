"""If Robota is killed without a chance to clean up, its commands must die too. A small shell process sees to it.

The kernel's own way (a death signal) reaches only the shell of a command and not what that started, and setting it
needs code between fork and exec. The guardian reads from a pipe that only Robota can write to: when the pipe ends
without a word, Robota is gone.
"""

import os
import subprocess
import weakref
from contextlib import suppress
from typing import Final

from robota.workspace.environment import unmarked

SCRIPT: Final = r"""
trap '' HUP INT TERM
read -r word && exit 0
for round in 1 2 3 4 5; do
  for place in $(grep -lF -e "$1" /proc/[0-9]*/environ 2>/dev/null); do
    place=${place#/proc/}
    kill -KILL "${place%/environ}" 2>/dev/null
  done
done
rm -f "$2"*
"""


class Guardian:
    """Watches over the commands whose marks begin with `mark`, and over the files that begin with `files`."""

    def __init__(self, mark: str, files: str) -> None:
        ear, mouth = os.pipe()
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", SCRIPT, "robota-guardian", mark, files],
                cwd="/",
                env=unmarked(os.environ),
                stdin=ear,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            os.close(mouth)
            raise
        finally:
            os.close(ear)
        # Also when it is forgotten and when the interpreter ends: only a violent death goes without the word.
        self._dismissal = weakref.finalize(self, _dismiss, process, mouth)

    def dismiss(self) -> None:
        """Nothing is left to watch over. Doing it twice does nothing."""
        self._dismissal()


def _dismiss(process: "subprocess.Popen[bytes]", mouth: int) -> None:
    with suppress(BrokenPipeError):
        os.write(mouth, b"done\n")
    os.close(mouth)
    process.wait()
