"""Tool calls as clients show them: the purpose of a call, and calls that ended before the client connected."""

from enum import StrEnum
from typing import Final

from robota.protocol.views import View
from robota.protocol.wire import Value


class CallPurpose(StrEnum):
    """What a call is for, as far as clients show it differently."""

    WORK = "work"
    QUESTION = "question"  # shown as an ask
    COMPLETION = "completion"  # shown as the answer
    SUBTASK = "subtask"  # a subtask works while it runs


# These are shown as an ask or as the answer, so the calls themselves are not shown.
SPEAKING: Final = frozenset({CallPurpose.QUESTION, CallPurpose.COMPLETION})


class PastCall(Value, frozen=True, kw_only=True):
    """An ended call, with the fields of its `toolStart` and `toolEnd`.

    `after` is the `ts` of the row that it is shown after: the newest one when the call ended.
    """

    call_id: str
    after: int
    title: str
    status: str
    purpose: CallPurpose = CallPurpose.WORK
    duration_ms: int = 0
    reason: str | None = None
    view: View | None = None
