"""How a path differs between two checkpoints."""

import msgspec


class CheckpointFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in a checkpoint: its mode as git stores it, and the object id of its content."""

    mode: str
    content: str

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == "120000"

    @property
    def is_executable(self) -> bool:
        """Whether it is executable."""
        return self.mode == "100755"


class CheckpointChange(msgspec.Struct, frozen=True, kw_only=True):
    """How a path differs between two checkpoints. A state of None means that it does not exist there."""

    path: str
    before: CheckpointFile | None
    after: CheckpointFile | None

    @property
    def kind(self) -> str:
        """added, deleted or modified."""
        return "added" if self.before is None else "deleted" if self.after is None else "modified"
