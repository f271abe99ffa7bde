"""What the engine needs to run commands that nobody approved, and to take back what they must not leave behind."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from io import FileIO

    from robota.workspace.checkpoints.held_back import ChangedFiles, HeldBack
    from robota.workspace.checkpoints.unseen_in_git import GitSnapshot, UnseenChanges
    from robota.workspace.confinement import ConfinementFacts
    from robota.workspace.steering_files import Survey


class ConfinementService(Protocol):
    """The facts about a session, and its files. Every method may block."""

    def facts(self) -> "ConfinementFacts":
        """What holds for every command of the session; detects the sandbox with the first call."""
        ...

    def may_work(self) -> bool:
        """Whether nothing is known so far that keeps commands from being confined; detects nothing."""
        ...

    def take_turn(self) -> "FileIO | None":
        """A lock that one command at a time has, until the file is closed; None if another has it.

        Raises `CheckpointError`.
        """
        ...

    def survey(self, since: "Survey | None" = None) -> "Survey":
        """What other programs obey in the workspace now, as compared with the survey before a command."""
        ...

    def notes_refs(self) -> bool:
        """Whether what a command moves in git can be moved back."""
        ...

    def shows_kept_files(self) -> bool | None:
        """Whether git's data contains files that are kept from the model; None if that is unknown."""
        ...

    def shares_git_data(self) -> bool:
        """Whether branches, tags and stash are also those of other worktrees, outside the workspace."""
        ...

    def git_snapshot(self) -> "GitSnapshot | None":
        """What git's names point to and what is staged; None without a repository. Raises `UnreadableNames`."""
        ...

    async def take_unseen_out_of_git(self, before: "GitSnapshot") -> "UnseenChanges":
        """Take back what is obeyed, new in git's data, and not in the workspace like that; returns what was.

        Raises `UnreadableNames` and `GitError`.
        """
        ...

    def hold_back(self, before: str, paths: Collection[str]) -> "HeldBack":
        """Take these paths out of the workspace, back to their state in a checkpoint. Raises `CheckpointError`."""
        ...

    def remove_compiled(self, paths: Collection[str]) -> list[str]:
        """Remove compiled Python; returns what could not be removed."""
        ...

    def put_back(self, held: "HeldBack") -> None:
        """Put back what was taken out. Raises `CheckpointError`."""
        ...

    def changed_since(self, before: str) -> "ChangedFiles":
        """What differs from an earlier checkpoint. Raises `CheckpointError`."""
        ...
