"""Propose something to remember in later sessions."""

from typing import Annotated, Literal

import msgspec

from robota.contracts.tool import Preview, Remember, titled
from robota.tools.presentation import SayTool, tool_ask
from robota.tools.steering_tool import steering_tool


class RememberParams(msgspec.Struct, frozen=True, kw_only=True):
    type: Annotated[
        Literal["user", "feedback", "project", "reference"],
        msgspec.Meta(description="What it is about: the user, how you work for them, the project, or anything else."),
    ]
    topic: Annotated[str, msgspec.Meta(description="A word or two, such as build or code-style.")]
    text: Annotated[str, msgspec.Meta(description="One sentence of at most 240 characters.")]


def order(params: RememberParams) -> Remember:
    """The proposal that the engine stores."""
    return Remember(kind=params.type, topic=params.topic, text=params.text)


def preview(params: RememberParams) -> Preview:
    """The text to remember."""
    return tool_ask(SayTool(tool="remember", content=params.text))


TOOL = steering_tool(__file__, RememberParams, order, preview, label="Remember", title=titled("Remember", "text"))
