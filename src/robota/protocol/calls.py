"""Tool calls as clients show them: what one is for, and one that ended before the client was there."""

from enum import StrEnum
from typing import Final

from robota.protocol.views import View
from robota.protocol.wire import Value


class CallPurpose(StrEnum):
    """What a call is for, as far as clients show it differently."""

    WORK = "work"
    QUESTION = "question"  # its words come again as an ask
    COMPLETION = "completion"  # its words come again as the answer
    SUBTASK = "subtask"  # others work while it runs


# Their words come as an ask or as the answer, so the calls themselves are not shown.
SPEAKING: Final = frozenset({CallPurpose.QUESTION, CallPurpose.COMPLETION})


class PastCall(Value, frozen=True, kw_only=True):
    """A call that has ended, with what `toolStart` and `toolEnd` told the clients that were there.

    `after` is the `ts` of the row behind which it stands: the newest one when the call ended.
    """

    call_id: str
    after: int
    title: str
    status: str
    purpose: CallPurpose = CallPurpose.WORK
    duration_ms: int = 0
    reason: str | None = None
    view: View | None = None
