"""Going back in a session: what can be gone back to, what would change, what did."""

from enum import StrEnum

from robota.protocol.wire import Value


class RewindScope(StrEnum):
    """What goes back."""

    BOTH = "both"
    FILES = "files"
    CONVERSATION = "conversation"


class RewindAction(StrEnum):
    """How somebody goes back: to a point, or by taking back the newest way back, or by doing that again."""

    RESTORE = "restore"
    UNDO = "undo"
    REDO = "redo"


class RewindCall(Value, frozen=True, kw_only=True):
    """A call that could change something."""

    id: str
    tool: str


class LeftFile(Value, frozen=True, kw_only=True):
    """A file that stays as it is although it differs, and why."""

    path: str
    reason: str


class PromptPoint(Value, frozen=True, kw_only=True):
    """A prompt of the person, which one can go back to. Its number stays the same for ever.

    `is_live` is false on a branch that was left. `files` are those that its calls changed, null if their checkpoints
    are gone; `not_captured` is how many paths are not in them, and `left_out` names the first of these.
    """

    number: int
    prompt: str
    is_live: bool = True
    calls: tuple[RewindCall, ...] = ()
    files: tuple[str, ...] | None = ()
    not_captured: int = 0
    left_out: tuple[LeftFile, ...] = ()


class RestoredFile(Value, frozen=True, kw_only=True):
    """A file that is or would be restored. `kind` is added, deleted or modified."""

    path: str
    kind: str


class RewindResult(Value, frozen=True, kw_only=True):
    """What a way back changes, or has changed. `state` is the same for the same changes of files.

    `left_prompts` are the numbers of the prompts that are no longer part of the conversation; after a restore `draft`
    is the first of them, to be changed and sent again. `returned_prompts` are those that are part of it again.
    `saved_new_work`: the person's work that was in no checkpoint is in one now.
    """

    action: RewindAction
    changes_conversation: bool = False
    left_prompts: tuple[int, ...] = ()
    returned_prompts: tuple[int, ...] = ()
    draft: str | None = None
    files: tuple[RestoredFile, ...] = ()
    left_files: tuple[LeftFile, ...] = ()
    saved_new_work: bool = False
    diff: str = ""
    state: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs from where it would lead."""
        return not self.changes_conversation and not self.files
