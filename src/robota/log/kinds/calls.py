"""Records of tool calls: the verdict of policy, the user's answer, their execution, checkpoints before them."""

from typing import Any, ClassVar, Self

import msgspec

from robota.log.record import Payload, TaskPayload, record_kind
from robota.protocol.calls import CallPurpose
from robota.protocol.codec import view_of
from robota.protocol.conversation import ToolResultBlock
from robota.protocol.views import View


@record_kind("verdict")
class VerdictRecord(Payload, frozen=True, kw_only=True):
    """The verdict of policy about a call, with the reason."""

    task_id: str
    call_id: str
    tool: str
    decision: str
    reason: str
    rule: str | None = None


@record_kind("review")
class ReviewRecord(TaskPayload, frozen=True, kw_only=True):
    """What the reviewer, a second model, said about a call: approved, declined or failed. For the audit only."""

    outlives_rewind: ClassVar[bool] = True

    call_id: str
    model: str
    outcome: str
    reason: str
    cost: float | None = None


class AnsweredBy(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who gave an answer: a client, its process, and the terminal of that process if it has one."""

    client: str
    pid: int
    program: str = ""
    terminal: str = ""


@record_kind("answer")
class AnswerRecord(TaskPayload, frozen=True, kw_only=True):
    """The user's answer to the ask `ts`. For the audit; it never approves anything again.

    Without `by` it was given by nobody: a time limit, or a message that was queued before the ask.
    """

    ts: int
    response: str
    text: str | None = None
    by: AnsweredBy | None = None


@record_kind("reached")
class ReachedRecord(Payload, frozen=True, kw_only=True):
    """A command in the sandbox was connected to this host and port for the first time in the session."""

    outlives_rewind: ClassVar[bool] = True

    place: str


@record_kind("toolStart")
class ToolStartRecord(TaskPayload, frozen=True, kw_only=True):
    """A call is about to run with this input. `is_changed`: the user or a hook modified it."""

    call_id: str
    tool: str
    input: dict[str, Any]
    is_changed: bool = False


@record_kind("toolEnd")
class ToolEndRecord(TaskPayload, frozen=True, kw_only=True):
    """A call has ended. `status` and the other fields are those of the protocol's `toolEnd`, which clients show.

    A `view` omits what the rows of the call contain: the hunks of a diff, the output of a command. `row` is the `ts` of
    the last of these rows, 0 without rows, and `after` that of the newest row of the task at the time. Logs of older
    versions have none of this.
    """

    call_id: str
    tool: str
    status: str
    duration_ms: int
    title: str = ""
    purpose: CallPurpose = CallPurpose.WORK
    reason: str | None = None
    view: View | None = None
    row: int = 0
    after: int = 0

    @classmethod
    def from_json(cls, data: bytes | msgspec.Raw) -> Self:
        """The payload; a view of a kind that this version does not know becomes a line of text with a note."""
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.ValidationError:
            fields = msgspec.json.decode(data)
            if not isinstance(fields, dict) or not isinstance(fields.get("view"), dict):
                raise
            own_fields = {name: value for name, value in fields.items() if name != "view"}
            return msgspec.structs.replace(msgspec.convert(own_fields, cls), view=view_of(fields["view"]))


@record_kind("result")
class ResultRecord(TaskPayload, frozen=True, kw_only=True):
    """The result of one of several calls in a reply, written as soon as the call has ended.

    It belongs to the next user turn of the task, whose own record does not repeat it.
    """

    result: ToolResultBlock


@record_kind("files")
class FileStampsRecord(TaskPayload, frozen=True, kw_only=True):
    """The state of files, by workspace path, when a call showed them to the model or wrote them.

    A stamp is that of `workspace.files`; an empty one means that the file was removed.
    """

    call_id: str
    files: dict[str, tuple[int, ...]]


@record_kind("checkpoint")
class CheckpointRecord(Payload, frozen=True, kw_only=True):
    """The workspace was saved before a call or, without a call, after the last change of a request.

    `not_captured` is the number of workspace paths that are not in the checkpoint.
    """

    outlives_rewind: ClassVar[bool] = True

    task_id: str
    checkpoint: str
    call_id: str | None = None
    tool: str | None = None
    not_captured: int = 0
