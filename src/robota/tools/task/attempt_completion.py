"""Say that the task is done."""

from typing import Annotated

import msgspec

from robota.contracts.tool import Complete, Effect, Preview, Tool, ToolContext, ToolResult, Touches
from robota.tools.description import description_beside


class AttemptCompletionParams(msgspec.Struct, frozen=True, kw_only=True):
    result: Annotated[str, msgspec.Meta(description="What was done and found, final, without a question at the end.")]


async def run(params: AttemptCompletionParams, context: ToolContext) -> ToolResult:
    return ToolResult(content="", control=Complete(result=params.result))


async def preview(params: AttemptCompletionParams, context: ToolContext) -> Preview:
    return Preview(ask="completion_result", text=params.result)


def touches(params: AttemptCompletionParams) -> Touches:
    return Touches()


TOOL = Tool(
    name="attempt_completion",
    label="attempt_completion",
    params=AttemptCompletionParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    run=run,
    touches=touches,
    preview=preview,
)
