"""Wait for agents in the background."""

from typing import Annotated, Final

import msgspec

from robota.contracts.agent import WaitForAgents
from robota.contracts.tool import Preview, ToolRole, titled
from robota.tools.presentation import SayTool, tool_ask
from robota.tools.steering_tool import steering_tool

DEFAULT_S: Final = 600
MAX_S: Final = 3600


class AgentWaitParams(msgspec.Struct, frozen=True, kw_only=True):
    ids: Annotated[tuple[str, ...], msgspec.Meta(description="All of these agents. Default: the next report.")] = ()
    timeout: Annotated[
        int, msgspec.Meta(description=f"Seconds to wait at most. Default {DEFAULT_S}.", ge=0, le=MAX_S)
    ] = DEFAULT_S


def order(params: AgentWaitParams) -> WaitForAgents:
    """The agents that the engine waits for."""
    return WaitForAgents(ids=params.ids, timeout_s=params.timeout)


def preview(params: AgentWaitParams) -> Preview:
    """The ids of the agents."""
    return tool_ask(SayTool(tool="agentWait", content=", ".join(params.ids)))


TOOL = steering_tool(
    __file__,
    AgentWaitParams,
    order,
    preview,
    label="AgentWait",
    title=titled("Wait for agents", "ids"),
    role=ToolRole.AGENTS,
)
