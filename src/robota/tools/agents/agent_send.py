"""Send an agent another message."""

from typing import Annotated

import msgspec

from robota.contracts.agent import SendToAgent
from robota.contracts.tool import Preview, ToolRole, titled
from robota.tools.presentation import SayTool, tool_ask
from robota.tools.steering_tool import steering_tool


class AgentSendParams(msgspec.Struct, frozen=True, kw_only=True):
    to: Annotated[str, msgspec.Meta(description="Its id or name.")]
    message: str


def order(params: AgentSendParams) -> SendToAgent:
    """The message that the engine delivers."""
    return SendToAgent(to=params.to, message=params.message)


def preview(params: AgentSendParams) -> Preview:
    """The message with its recipient."""
    return tool_ask(SayTool(tool="agentSend", mode=params.to, content=params.message))


TOOL = steering_tool(
    __file__,
    AgentSendParams,
    order,
    preview,
    label="AgentSend",
    title=titled("Message to", "to"),
    role=ToolRole.AGENTS,
)
