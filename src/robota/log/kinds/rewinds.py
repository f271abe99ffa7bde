"""Records of rewinds: the conversation or the files return to an earlier state."""

from typing import ClassVar

from robota.log.record import Payload, TaskPayload, record_kind
from robota.protocol.rewind import RefMove
from robota.protocol.wire import Value


class RewoundFiles(Value, frozen=True, kw_only=True):
    """Two checkpoints: the workspace before and after files were restored. The differences are what was restored."""

    before: str
    after: str


@record_kind("rewindStart")
class RewindStartRecord(Payload, frozen=True, kw_only=True):
    """Files are about to be restored. Without a `rewind` of the same id, the restore was interrupted."""

    outlives_rewind: ClassVar[bool] = True

    rewind_id: str
    files: RewoundFiles


@record_kind("rewind")
class RewindRecord(Payload, frozen=True, kw_only=True):
    """The session was rewound. `to` is a record number: the conversation returns to its state after that record.

    `action` is restore, undo or redo, or failed: then the restore of that id changed nothing after all. To undo a
    rewind, go to the number before its own and restore what `files` had before. `refs` are names of git that were
    moved.
    """

    outlives_rewind: ClassVar[bool] = True

    rewind_id: str
    action: str
    to: int | None = None
    files: RewoundFiles | None = None
    refs: tuple[RefMove, ...] = ()


@record_kind("refMoves")
class RefMovesRecord(TaskPayload, frozen=True, kw_only=True):
    """A command moved branches, tags, the stash or HEAD of git."""

    outlives_rewind: ClassVar[bool] = True

    call_id: str
    moves: tuple[RefMove, ...]
