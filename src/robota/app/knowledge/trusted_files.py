"""The configuration of a workspace as the person trusted it, also when they change it while a session runs."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from robota.config.settings.load import Settings
from robota.config.trust.decision import trust_of
from robota.config.trust.lock_file import lock_path
from robota.config.trust.sources import DIRECTORIES, ConfigSource, take_snapshot

CHANGED: Final = (
    "The configuration of this workspace changed since you trusted it, so skills and commands are used as they were. "
    "robota trust, in another terminal, shows what changed; they count at your next prompt after that."
)

# The times of files are those of a clock that goes in steps.
CLOCK_STEP_NS: Final = 20_000_000


class TrustedFiles:
    """Looked at again when a file may have changed: what is new counts only once it is trusted, too."""

    def __init__(self, settings: Settings, root: Path, env: Mapping[str, str]) -> None:
        is_trusted = settings.trust is not None and settings.is_trusted
        self.sources: Sequence[ConfigSource] = settings.trust.snapshot.sources if settings.trust and is_trusted else ()
        self._notices: tuple[str, ...] = ()
        self._root = root
        self._env = env
        self._looked_ns = time.time_ns()

    def refresh(self) -> tuple[str, ...]:
        """Look whether anything changed, and say what a person should know of it.

        Where the workspace brought nothing that was trusted, nothing is looked at.
        """
        before, self._looked_ns = self._looked_ns - CLOCK_STEP_NS, time.time_ns()
        if self.sources and any(_changed_ns(path) > before for path in self._places()):
            trust = trust_of(take_snapshot(self._root), self._env)
            self._notices = () if trust.is_given else (CHANGED,)
            if trust.is_given:
                self.sources = trust.snapshot.sources
        return self._notices

    def _places(self) -> Iterable[str]:
        """Every file and directory whose change can matter; a file that is gone has changed its directory."""
        found = {str(lock_path(self._env)), *(f"{self._root}/{directory}" for directory in DIRECTORIES)}
        for source in self.sources:
            path = source.path
            while path:
                found.add(f"{self._root}/{path}")
                path = path.rpartition("/")[0]
        return found


def _changed_ns(path: str) -> int:
    """When it was changed, by the time that no program can set; 0 if there is nothing."""
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return 0
