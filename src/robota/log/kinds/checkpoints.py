"""Records of checkpoints: which saved state of the workspace belongs to which call."""

from typing import ClassVar

from robota.log.record import Payload, record_kind


@record_kind("checkpoint")
class CheckpointRecord(Payload, frozen=True, kw_only=True):
    """The workspace was saved before a call, or, without one, after the last change of a request.

    `not_captured` says how many paths are not in the checkpoint although they are in the workspace.
    """

    outlives_rewind: ClassVar[bool] = True

    task_id: str
    checkpoint: str
    call_id: str | None = None
    tool: str | None = None
    not_captured: int = 0
