"""How much of what commands printed is kept beside a log: the oldest goes when there is too much, and a note stays."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from robota.log.artifacts import write_whole

LIST_NAME: Final = "kept-outputs"


class KeptOutputs:
    """The outputs of one session, the oldest first. A file lists them, so that a resumed session knows them too."""

    def __init__(self, session_directory: Path, artifacts: Path, most_bytes: int) -> None:
        self._list = session_directory / LIST_NAME
        self._artifacts = artifacts
        self._most_bytes = most_bytes

    def added(self, name: str) -> None:
        """One more was kept. As many of the oldest are cut as are too many; the newest always stays."""
        with suppress(OSError):  # the output itself is kept
            names = [*self._names(), name]
            sizes = [self._size(each) for each in names]
            while len(names) > 1 and sum(sizes) > self._most_bytes:
                self._cut(names.pop(0), sizes.pop(0))
            write_whole(self._list, "".join(f"{each}\n" for each in names).encode())

    def _names(self) -> list[str]:
        try:
            return self._list.read_text("ascii").split()
        except (OSError, UnicodeDecodeError):
            return []

    def _size(self, name: str) -> int:
        try:
            return (self._artifacts / name).lstat().st_size
        except OSError:
            return 0

    def _cut(self, name: str, size: int) -> None:
        note = (
            f"[{size:,} bytes of output were kept here. They were removed, because all outputs of the session may take "
            f"no more than {self._most_bytes:,} bytes (setting keptOutputBytes). Run the command again.]\n"
        )
        if size > len(note):
            write_whole(self._artifacts / name, note.encode())
