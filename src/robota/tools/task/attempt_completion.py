"""Say that the task is done."""

import msgspec

from robota.contracts.tool import Complete, Preview, titled
from robota.protocol.calls import CallPurpose
from robota.tools.steering_tool import steering_tool


class AttemptCompletionParams(msgspec.Struct, frozen=True, kw_only=True):
    result: str


def order(params: AttemptCompletionParams) -> Complete:
    """The result, with which the engine ends the task."""
    return Complete(result=params.result)


def preview(params: AttemptCompletionParams) -> Preview:
    """The result as a row."""
    return Preview(ask="completion_result", text=params.result)


TOOL = steering_tool(
    __file__,
    AttemptCompletionParams,
    order,
    preview,
    title=titled("Result", "result"),
    purpose=CallPurpose.COMPLETION,
)
