"""Ask to go on in another mode."""

from typing import Annotated

import msgspec

from robota.contracts.tool import ChangeMode, Effect, Preview, Tool, ToolContext, ToolResult, Touches
from robota.tools.description import description_beside
from robota.tools.say_tool import SayTool, tool_ask


class SwitchModeParams(msgspec.Struct, frozen=True, kw_only=True):
    mode_slug: Annotated[str, msgspec.Meta(description="The slug of the mode to go to, for example `code`.")]
    reason: Annotated[str, msgspec.Meta(description="Why, in a sentence for the user.")]


async def run(params: SwitchModeParams, context: ToolContext) -> ToolResult:
    return ToolResult(content="", control=ChangeMode(mode=params.mode_slug, reason=params.reason))


async def preview(params: SwitchModeParams, context: ToolContext) -> Preview:
    return tool_ask(SayTool(tool="switchMode", mode=params.mode_slug, reason=params.reason))


def touches(params: SwitchModeParams) -> Touches:
    return Touches()


TOOL = Tool(
    name="switch_mode",
    label="switch_mode",
    params=SwitchModeParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    run=run,
    touches=touches,
    preview=preview,
)
