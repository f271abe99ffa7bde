"""The configuration files of a workspace as trusted, kept up to date while a session runs."""

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
    "The configuration of this workspace changed since you trusted it, so skills and commands are used in their "
    "trusted state. To review the changes, run robota trust in another terminal; they apply from your next prompt on."
)

# File times come from a clock with this resolution.
CLOCK_STEP_NS: Final = 20_000_000


class TrustedFiles:
    """The trusted files. Changes are used only once they are trusted, too."""

    def __init__(self, settings: Settings, root: Path, env: Mapping[str, str]) -> None:
        is_trusted = settings.trust is not None and settings.is_trusted
        self.sources: Sequence[ConfigSource] = settings.trust.snapshot.sources if settings.trust and is_trusted else ()
        self._notices: tuple[str, ...] = ()
        self._root = root
        self._env = env
        self._checked_ns = time.time_ns()

    def refresh(self) -> tuple[str, ...]:
        """Check for changes; returns notices for the user. Does nothing if the workspace has no trusted files."""
        before, self._checked_ns = self._checked_ns - CLOCK_STEP_NS, time.time_ns()
        if self.sources and any(_changed_ns(path) > before for path in self._watched_paths()):
            trust = trust_of(take_snapshot(self._root), self._env)
            self._notices = () if trust.is_given else (CHANGED,)
            if trust.is_given:
                self.sources = trust.snapshot.sources
        return self._notices

    def _watched_paths(self) -> Iterable[str]:
        """The files and directories to check; their directories too, because these change when a file is removed."""
        paths = {str(lock_path(self._env)), *(f"{self._root}/{directory}" for directory in DIRECTORIES)}
        for source in self.sources:
            path = source.path
            while path:
                paths.add(f"{self._root}/{path}")
                path = path.rpartition("/")[0]
        return paths


def _changed_ns(path: str) -> int:
    """The ctime of a path, which programs cannot set; 0 if it does not exist."""
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return 0
