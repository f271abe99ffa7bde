"""The list of the checkpoints in a store, oldest first, and how long each is kept."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

LIST_NAME: Final = "checkpoints"


class ListedCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint and when it was made, in seconds."""

    made_s: int
    id: str


class CheckpointList:
    """The list in one store."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LIST_NAME

    def read(self) -> list[ListedCheckpoint]:
        """All checkpoints; lines that a full disk cut off are skipped."""
        try:
            lines = self._path.read_text().splitlines()
        except FileNotFoundError:
            return []
        words = (line.split(" ") for line in lines)
        return [ListedCheckpoint(int(pair[0]), pair[1]) for pair in words if len(pair) == 2 and pair[0].isdecimal()]

    def add(self, checkpoint: str, now_s: int) -> None:
        """Add one at the end."""
        with self._path.open("a") as listed:
            listed.write(f"{now_s} {checkpoint}\n")

    def write(self, checkpoints: Iterable[ListedCheckpoint]) -> None:
        """Keep only these."""
        draft = self._path.with_name(f"{LIST_NAME}.new")
        draft.write_text("".join(f"{each.made_s} {each.id}\n" for each in checkpoints))
        draft.rename(self._path)
