"""How many commands of a chain bash has started, told by bash itself on a descriptor that nobody else looks at."""

import os
from typing import Final

# bash reads this file before its command. The variables are not exported, so nothing changes for what it starts.
SETTINGS: Final = "unset BASH_ENV; exec {settings}<&-; BASH_XTRACEFD={trace}; PS4='+ '; set -x\n"
MARK: Final = b"+ "
MOST_BYTES: Final = 1 << 20


class ShellTrace:
    """For chains of simple commands only: of a loop it would grow without end. Must be closed."""

    def __init__(self) -> None:
        self._trace = os.memfd_create("trace")
        self._settings = os.memfd_create("settings")
        os.write(self._settings, SETTINGS.format(settings=self._settings, trace=self._trace).encode())

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What bash must be started with."""
        return (self._trace, self._settings)

    @property
    def environment(self) -> dict[str, str]:
        """What bash must find in its environment."""
        return {"BASH_ENV": f"/proc/self/fd/{self._settings}"}

    def started(self) -> int:
        """How many commands were started so far."""
        lines = os.pread(self._trace, MOST_BYTES, 0).split(b"\n")
        return sum(line.startswith(MARK) for line in lines)

    def close(self) -> None:
        """Doing it twice does nothing."""
        for descriptor in (self._trace, self._settings):
            if descriptor >= 0:
                os.close(descriptor)
        self._trace = self._settings = -1
