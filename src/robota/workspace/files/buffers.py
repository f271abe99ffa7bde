"""Files with changes that the user has not saved: what their editor has in the place of what is on disk."""

from pathlib import Path


class UnsavedBuffers:
    """The contents of such files by their real path. What is written to one waits until the editor has it."""

    def __init__(self) -> None:
        self._contents: dict[Path, bytes] = {}
        self._written: dict[Path, tuple[bytes, bytes]] = {}

    def note(self, real: Path, content: bytes | None) -> None:
        """Note what the editor has; None if that is what is on disk, or if it has nothing."""
        if content is None:
            self._contents.pop(real, None)
        else:
            self._contents[real] = content

    def get(self, real: Path) -> bytes | None:
        """The unsaved content of a file; None if the content on disk counts."""
        return self._contents.get(real)

    def write(self, real: Path, content: bytes) -> None:
        """Replace the content of a buffer."""
        before, _ = self._written.get(real, (self._contents[real], b""))
        self._written[real] = (before, content)
        self._contents[real] = content

    def take_written(self) -> dict[Path, tuple[bytes, bytes]]:
        """What was written to buffers since the last time: the content before and after."""
        written, self._written = self._written, {}
        return written
