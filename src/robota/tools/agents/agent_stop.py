"""Stop an agent."""

from typing import Annotated

import msgspec

from robota.contracts.agent import StopAgent
from robota.contracts.tool import Preview, ToolRole, titled
from robota.tools.presentation import SayTool, tool_ask
from robota.tools.steering_tool import steering_tool


class AgentStopParams(msgspec.Struct, frozen=True, kw_only=True):
    id: Annotated[str, msgspec.Meta(description="Its id or name.")]


def order(params: AgentStopParams) -> StopAgent:
    """The agent that the engine stops."""
    return StopAgent(id=params.id)


def preview(params: AgentStopParams) -> Preview:
    """The id of the agent."""
    return tool_ask(SayTool(tool="agentStop", content=params.id))


TOOL = steering_tool(
    __file__,
    AgentStopParams,
    order,
    preview,
    label="AgentStop",
    title=titled("Stop agent", "id"),
    role=ToolRole.AGENTS,
)
