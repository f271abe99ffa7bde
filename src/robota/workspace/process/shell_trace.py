"""Count the commands of a chain that bash has started, from its trace on a separate file descriptor."""

import os
from typing import Final

# bash reads this file before its command. The variables are not exported, so child processes do not see them.
SETTINGS: Final = "unset BASH_ENV; exec {settings}<&-; BASH_XTRACEFD={trace}; PS4='+ '; set -x\n"
MARK: Final = b"+ "
MAX_BYTES: Final = 1 << 20


class ShellTrace:
    """For chains of simple commands only: a loop would let it grow without limit. Must be closed."""

    def __init__(self) -> None:
        self._trace = os.memfd_create("trace")
        self._settings = os.memfd_create("settings")
        os.write(self._settings, SETTINGS.format(settings=self._settings, trace=self._trace).encode())

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The file descriptors that bash must inherit."""
        return (self._trace, self._settings)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that bash needs in its environment."""
        return {"BASH_ENV": f"/proc/self/fd/{self._settings}"}

    @property
    def instruction(self) -> bytes:
        """What makes bash read the settings, at the end of another file that it reads before its command."""
        return f". /proc/self/fd/{self._settings}\n".encode()

    def started(self) -> int:
        """The number of commands started so far."""
        lines = os.pread(self._trace, MAX_BYTES, 0).split(b"\n")
        return sum(line.startswith(MARK) for line in lines)

    def close(self) -> None:
        """Idempotent."""
        for descriptor in (self._trace, self._settings):
            if descriptor >= 0:
                os.close(descriptor)
        self._trace = self._settings = -1
