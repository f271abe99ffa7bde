"""Say that the task is done."""

from typing import Annotated

import msgspec

from robota.contracts.tool import (
    Complete,
    Effect,
    Prepared,
    Preview,
    Tool,
    ToolContext,
    ToolGroup,
    ToolResult,
    Touches,
    titled,
)
from robota.protocol.calls import CallPurpose
from robota.tools.presentation import description_beside


class AttemptCompletionParams(msgspec.Struct, frozen=True, kw_only=True):
    result: Annotated[str, msgspec.Meta(description="The final answer.")]


async def prepare(params: AttemptCompletionParams, context: ToolContext) -> Prepared:
    """The result; the engine presents it and ends the task."""

    async def run() -> ToolResult:
        return ToolResult(content="", control=Complete(result=params.result))

    return Prepared(preview=Preview(ask="completion_result", text=params.result), run=run)


def touches(params: AttemptCompletionParams) -> Touches:
    """What the call touches, for policy."""
    return Touches()


TOOL = Tool(
    name="attempt_completion",
    label="attempt_completion",
    group=ToolGroup.TASK,
    params=AttemptCompletionParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    touches=touches,
    prepare=prepare,
    title=titled("Result", "result"),
    purpose=CallPurpose.COMPLETION,
)
