"""Limits the stored command outputs of a session: the oldest are replaced by a note when there are too many bytes."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from robota.log.artifacts import write_whole

LIST_NAME: Final = "kept-outputs"


class OutputLimit:
    """The stored outputs of one session, oldest first. A file lists them for resumed sessions."""

    def __init__(self, session_directory: Path, artifacts: Path, most_bytes: int) -> None:
        self._list = session_directory / LIST_NAME
        self._artifacts = artifacts
        self._most_bytes = most_bytes

    def added(self, name: str) -> None:
        """Register a new output, and replace the oldest ones while the limit is exceeded; the newest always stays."""
        with suppress(OSError):  # the output itself is stored anyway
            names = [*self._names(), name]
            sizes = [self._size(each) for each in names]
            while len(names) > 1 and sum(sizes) > self._most_bytes:
                self._replace_by_note(names.pop(0), sizes.pop(0))
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

    def _replace_by_note(self, name: str, size: int) -> None:
        note = (
            f"[{size:,} bytes of output were kept here. They were removed, because all outputs of the session may take "
            f"no more than {self._most_bytes:,} bytes (setting keptOutputBytes). Run the command again.]\n"
        )
        if size > len(note):
            write_whole(self._artifacts / name, note.encode())
