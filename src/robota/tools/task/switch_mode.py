"""Ask to continue in another mode."""

from typing import Annotated

import msgspec

from robota.contracts.tool import ChangeMode, Preview, ToolRole, titled
from robota.tools.presentation import SayTool, tool_ask
from robota.tools.steering_tool import steering_tool


class SwitchModeParams(msgspec.Struct, frozen=True, kw_only=True):
    mode_slug: Annotated[str, msgspec.Meta(description="The mode, for example `code`.")]
    reason: Annotated[str, msgspec.Meta(description="Why, for the user.")]


def order(params: SwitchModeParams) -> ChangeMode:
    """What the engine asks the user."""
    return ChangeMode(mode=params.mode_slug, reason=params.reason)


def preview(params: SwitchModeParams) -> Preview:
    """The question as the seed's clients read it."""
    return tool_ask(SayTool(tool="switchMode", mode=params.mode_slug, reason=params.reason))


TOOL = steering_tool(
    __file__,
    SwitchModeParams,
    order,
    preview,
    title=titled("Mode", "mode_slug"),
    role=ToolRole.MODE_CHANGER,
)
