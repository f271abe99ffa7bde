"""Rewinding a session: the points to rewind to, and what a rewind changes."""

from enum import StrEnum

from robota.protocol.wire import Value


class RewindScope(StrEnum):
    """What to rewind."""

    BOTH = "both"
    FILES = "files"
    CONVERSATION = "conversation"


class RewindAction(StrEnum):
    """The kind of rewind: to a point, undo of the newest rewind, or redo of an undone one."""

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
    """A prompt that the session can be rewound to. Its number never changes.

    `is_live` is false on an abandoned branch. `files` are those that its calls changed, null if their checkpoints
    are gone; `not_captured` is how many paths are not in them, and `left_out` names the first of these.
    """

    number: int
    prompt: str
    is_live: bool = True
    calls: tuple[RewindCall, ...] = ()
    files: tuple[str, ...] | None = ()
    not_captured: int = 0
    left_out: tuple[LeftFile, ...] = ()


class RefMove(Value, frozen=True, kw_only=True):
    """A branch, a tag, the stash or HEAD of git, and its value before and after; null if it did not exist."""

    name: str
    before: str | None = None
    after: str | None = None


class RestoredFile(Value, frozen=True, kw_only=True):
    """A file that is or would be restored. `kind` is added, deleted or modified."""

    path: str
    kind: str


class RewindResult(Value, frozen=True, kw_only=True):
    """What a rewind changes or changed. `state` is the same for the same file changes.

    `left_prompts` are the numbers of the prompts that are no longer part of the conversation; after a restore `draft`
    is the first of them, to be changed and sent again. `returned_prompts` are those that are part of it again.
    `saved_new_work`: the user's work that was in no checkpoint is in one now. `refs` are the names of git that move
    back, `left_refs` those that commands moved, but something else moved since.
    """

    action: RewindAction
    changes_conversation: bool = False
    left_prompts: tuple[int, ...] = ()
    returned_prompts: tuple[int, ...] = ()
    draft: str | None = None
    files: tuple[RestoredFile, ...] = ()
    left_files: tuple[LeftFile, ...] = ()
    saved_new_work: bool = False
    refs: tuple[RefMove, ...] = ()
    left_refs: tuple[str, ...] = ()
    diff: str = ""
    state: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the rewind changes nothing."""
        return not self.changes_conversation and not self.files and not self.refs
