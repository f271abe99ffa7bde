"""Ask to continue in another mode."""

from typing import Annotated

import msgspec

from robota.contracts.tool import (
    ChangeMode,
    Effect,
    Prepared,
    Tool,
    ToolContext,
    ToolGroup,
    ToolResult,
    Touches,
    titled,
)
from robota.tools.presentation import SayTool, description_beside, tool_ask


class SwitchModeParams(msgspec.Struct, frozen=True, kw_only=True):
    mode_slug: Annotated[str, msgspec.Meta(description="The slug of the mode, for example `code`.")]
    reason: Annotated[str, msgspec.Meta(description="Why, for the user.")]


async def prepare(params: SwitchModeParams, context: ToolContext) -> Prepared:
    """The request; the engine asks the user and switches."""

    async def run() -> ToolResult:
        return ToolResult(content="", control=ChangeMode(mode=params.mode_slug, reason=params.reason))

    return Prepared(preview=tool_ask(SayTool(tool="switchMode", mode=params.mode_slug, reason=params.reason)), run=run)


def touches(params: SwitchModeParams) -> Touches:
    """What the call touches, for policy."""
    return Touches()


TOOL = Tool(
    name="switch_mode",
    label="switch_mode",
    group=ToolGroup.TASK,
    params=SwitchModeParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    touches=touches,
    prepare=prepare,
    title=titled("Mode", "mode_slug"),
)
