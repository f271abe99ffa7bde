"""Start an agent."""

from typing import Annotated, Literal

import msgspec

from robota.contracts.agent import GENERAL_PURPOSE, Isolation, StartAgent
from robota.contracts.budget import Limit, micro_dollars
from robota.contracts.tool import HookNames, Preview, ToolRole, Touches, titled
from robota.tools.presentation import SayTool, tool_ask
from robota.tools.steering_tool import steering_tool


class AgentParams(msgspec.Struct, frozen=True, kw_only=True):
    description: Annotated[str, msgspec.Meta(description="What it does, in three to six words.")]
    prompt: str
    subagent_type: Annotated[str, msgspec.Meta(description="Which agent. Default: general-purpose.")] = GENERAL_PURPOSE
    model: Annotated[str | None, msgspec.Meta(description="Another model.")] = None
    run_in_background: Annotated[bool, msgspec.Meta(description="Do not wait for it.")] = False
    name: Annotated[str, msgspec.Meta(description="A name to address it.")] = ""
    isolation: Annotated[Literal["none", "worktree"], msgspec.Meta(description="worktree: a copy of the files.")] = (
        "none"
    )
    max_turns: Annotated[Annotated[int, msgspec.Meta(ge=1)] | None, msgspec.Meta(description="Requests at most.")] = (
        None
    )
    budget: Annotated[Annotated[float, msgspec.Meta(ge=0)] | None, msgspec.Meta(description="Dollars at most.")] = None


def order(params: AgentParams) -> StartAgent:
    """The agent that the engine starts."""
    return StartAgent(
        description=params.description,
        prompt=params.prompt,
        type=params.subagent_type or GENERAL_PURPOSE,
        model=params.model,
        name=params.name,
        in_background=params.run_in_background,
        isolation=Isolation(params.isolation),
        max_turns=params.max_turns,
        budget=None if params.budget is None else Limit(money=micro_dollars(params.budget)),
    )


def preview(params: AgentParams) -> Preview:
    """The agent with its prompt."""
    return tool_ask(SayTool(tool="agent", mode=params.subagent_type, reason=params.description, content=params.prompt))


def touches(params: AgentParams) -> Touches:
    """What the call touches, for policy."""
    return Touches(skill=params.subagent_type or GENERAL_PURPOSE)


TOOL = steering_tool(
    __file__,
    AgentParams,
    order,
    preview,
    label="Agent",
    title=titled("Agent", "description"),
    role=ToolRole.AGENTS,
    touches=touches,
    hook_names=HookNames(also_matched_as=("Task",)),
    runs_beside=True,
)
