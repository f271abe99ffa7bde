"""What decides the meaning of a command besides its words: the script that it names, a Makefile, a package script."""

from hashlib import sha256
from typing import Final

import msgspec

# Enough that nobody finds another content with the same digest, and short enough for a rule in the settings.
DIGEST_CHARACTERS: Final = 24


class PinnedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the workspace as it was when the command was judged. `path` is relative to the workspace.

    `meaning` is the part of it that decides, if that is not the whole file: the text of a package script.
    """

    path: str
    data: bytes
    is_executable: bool = False
    meaning: str | None = None

    @property
    def text(self) -> str:
        """What the user approves of it."""
        return self.data.decode("utf-8", "replace") if self.meaning is None else self.meaning


class CommandEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a command starts from. It has none if its words alone decide what it does."""

    files: tuple[PinnedFile, ...] = ()

    @property
    def digest(self) -> str:
        """The same as long as the command means the same."""
        parts = sorted((file.path, sha256(_decisive(file)).hexdigest(), file.is_executable) for file in self.files)
        return sha256(msgspec.json.encode(parts)).hexdigest()[:DIGEST_CHARACTERS]

    @property
    def names(self) -> tuple[str, ...]:
        """The paths of the files."""
        return tuple(file.path for file in self.files)

    def __add__(self, other: "CommandEntry") -> "CommandEntry":
        by_path = {file.path: file for file in (*self.files, *other.files)}
        return CommandEntry(files=tuple(by_path.values()))


def _decisive(file: PinnedFile) -> bytes:
    return file.data if file.meaning is None else file.meaning.encode("utf-8", "surrogateescape")
