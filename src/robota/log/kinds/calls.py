"""Records of tool calls: what policy said of them, what a person answered, how they ran."""

from typing import Any

from robota.log.record import Payload, record_kind


@record_kind("verdict")
class VerdictRecord(Payload, frozen=True, kw_only=True):
    """What policy said of a call, and why."""

    task_id: str
    call_id: str
    tool: str
    decision: str
    reason: str
    rule: str | None = None


@record_kind("answer")
class AnswerRecord(Payload, frozen=True, kw_only=True):
    """What a person answered to the ask `ts`. For the audit; never an approval again."""

    task_id: str
    ts: int
    response: str
    text: str | None = None


@record_kind("toolStart")
class ToolStartRecord(Payload, frozen=True, kw_only=True):
    """A call is about to run, with the input it runs with."""

    task_id: str
    call_id: str
    tool: str
    input: dict[str, Any]


@record_kind("toolEnd")
class ToolEndRecord(Payload, frozen=True, kw_only=True):
    """A call has ended; `status` is that of the protocol's `toolEnd`."""

    task_id: str
    call_id: str
    tool: str
    status: str
    duration_ms: int
