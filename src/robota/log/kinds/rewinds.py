"""Records of going back: the conversation stands where it stood earlier, files are as they were."""

from typing import ClassVar

from robota.log.record import Payload, record_kind
from robota.protocol.wire import Value


class RewoundFiles(Value, frozen=True, kw_only=True):
    """Two checkpoints: the workspace before files were restored, and after it. What differs was restored."""

    before: str
    after: str


@record_kind("rewindStart")
class RewindStartRecord(Payload, frozen=True, kw_only=True):
    """Files are about to be restored. Without a `rewind` of the same id the restore was cut off."""

    outlives_rewind: ClassVar[bool] = True

    rewind_id: str
    files: RewoundFiles


@record_kind("rewind")
class RewindRecord(Payload, frozen=True, kw_only=True):
    """Somebody went back. `to` is the number of a record: the conversation is again what it was after that record.

    `action` is restore, undo or redo, or failed: then the restore of that id changed nothing after all. Each can be
    taken back by going to the number before its own and restoring what `files` had before.
    """

    outlives_rewind: ClassVar[bool] = True

    rewind_id: str
    action: str
    to: int | None = None
    files: RewoundFiles | None = None
