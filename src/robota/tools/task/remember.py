"""Propose something to remember in later sessions."""

from typing import Annotated, Literal

import msgspec

from robota.contracts.tool import (
    Effect,
    HookNames,
    Prepared,
    Remember,
    Tool,
    ToolContext,
    ToolGroup,
    ToolResult,
    Touches,
    titled,
)
from robota.tools.presentation import SayTool, description_beside, tool_ask


class RememberParams(msgspec.Struct, frozen=True, kw_only=True):
    type: Annotated[
        Literal["user", "feedback", "project", "reference"],
        msgspec.Meta(description="What it is about: the user, how you work for them, the project, or anything else."),
    ]
    topic: Annotated[str, msgspec.Meta(description="A word or two, such as build or code-style.")]
    text: Annotated[str, msgspec.Meta(description="One sentence of at most 240 characters.")]


async def prepare(params: RememberParams, context: ToolContext) -> Prepared:
    """The proposal; the engine stores it."""
    action = SayTool(tool="remember", content=params.text)

    async def run() -> ToolResult:
        return ToolResult(content="", control=Remember(kind=params.type, topic=params.topic, text=params.text))

    return Prepared(preview=tool_ask(action), run=run)


def touches(params: RememberParams) -> Touches:
    """What the call touches, for policy."""
    return Touches()


TOOL = Tool(
    name="remember",
    label="Remember",
    group=ToolGroup.TASK,
    params=RememberParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    touches=touches,
    prepare=prepare,
    hook_names=HookNames(),
    title=titled("Remember", "text"),
)
